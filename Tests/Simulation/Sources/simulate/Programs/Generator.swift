/// Makes a program from a seed.
struct Generator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x2545_F491_4F6C_DD1D &+ 0x1234_5678 }

    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    private mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }
    private mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
    private mutating func one<Element>(of all: [Element]) -> Element { all[below(all.count)] }

    static func program(_ seed: UInt64) -> Program {
        var generator = Generator(seed: seed)
        return generator.program(seed)
    }

    private mutating func program(_ seed: UInt64) -> Program {
        let manager = manager()
        // Swarm testing: each program leaves out some kinds of operations, faults and requests.
        let faults = Fault.allCases.filter { $0 != .none && chance(40) && !($0 == .status408Stale && manager.rate != nil) }
        let faultChance = one(of: [0, 15, 50])
        let kinds = RequestPlan.Kind.allCases.filter { _ in chance(50) } + [.data]
        let hosts = chance(50) ? ["a", "b", "c"] : ["a"]
        let paths = one(of: [1, 2, 4])
        let delays = one(of: [1, 10, 100, 3_000])
        let actors = 1 + below(8)
        let disturbs = chance(60)
        let limits = chance(50)
        var operations: [Operation] = []
        var requests: [Int] = []
        for id in 1...(5 + below(36)) {
            let action: Operation.Action
            if requests.isEmpty || chance(disturbs ? 55 : 80) {
                requests.append(id)
                action = .send(request(kinds, hosts, paths, faults, faultChance, limits))
            } else {
                action = disturbance(one(of: requests), disturbs, manager)
            }
            operations.append(Operation(id: id, actor: below(actors), delay: chance(50) ? 0 : below(delays), action: action))
        }
        return Program(seed: seed, manager: manager, operations: operations)
    }

    private mutating func disturbance(_ request: Int, _ disturbs: Bool, _ manager: ManagerPlan) -> Operation.Action {
        guard disturbs else { return .wait(request) }
        switch below(20) {
        case 0...4: return .wait(request)
        case 5...9: return .drop(request)
        case 10, 11: return .pause(request)
        case 12, 13: return .resume(request)
        case 14: return .dropAll
        case 15: return .reset
        case 16: return manager.authentication ? .signIn(user: below(2)) : .wait(request)
        case 17: return manager.authentication ? .signOut : .drop(request)
        case 18: return chance(50) ? .switchEnvironment : .setLimit(1 + below(4))
        default: return chance(30) ? .shutDown(below(100)) : .drop(request)
        }
    }

    private mutating func manager() -> ManagerPlan {
        var plan = ManagerPlan()
        plan.stopping = one(of: [.controlled, .controlled, .canceled, .ignored])
        if chance(50) { plan.retries = 1 + below(3) }
        plan.repeatsRefused = chance(30)
        plan.budget = chance(20)
        plan.breaker = chance(25)
        if chance(20) { plan.rate = one(of: [1, 10, 100]) }
        plan.hostLimit = one(of: [1, 2, 6])
        if chance(25) { plan.total = 1 + below(3) }
        if chance(50) { plan.cache = one(of: ManagerPlan.Cache.allCases) }
        plan.cookies = chance(40)
        plan.authentication = chance(50)
        plan.refreshesAhead = chance(20)
        if chance(60) { plan.duplicates = one(of: ManagerPlan.Duplicates.allCases) }
        if chance(40) {
            plan.loaders = (0...below(2)).map { _ in
                ManagerPlan.Loader(place: below(4), kind: one(of: ManagerPlan.Loader.Kind.allCases))
            }
        }
        plan.observers = chance(70)
        plan.timeout = one(of: [500, 5_000, 60_000])
        if chance(20) { plan.deadline = one(of: [50, 1_000, 20_000]) }
        return plan
    }

    private mutating func request(
        _ kinds: [RequestPlan.Kind], _ hosts: [String], _ paths: Int, _ faults: [Fault], _ faultChance: Int, _ limits: Bool
    ) -> RequestPlan {
        let kind = one(of: kinds)
        let scheme = chance(10) ? "http" : "https"
        let host = one(of: hosts)
        var target = "/\(one(of: ["resource", "resource", "private", "fresh", "varies"]))/\(below(paths))"
        switch kind {
        case .download, .segments: target = "/file/\(below(paths))"
        case .events: target = "/events/\(below(paths))"
        default: break
        }
        // One or two redirects before it.
        for _ in 0..<one(of: [0, 0, 0, 1, 2]) {
            target = "/redirect/\(one(of: [301, 302, 303, 307, 308]))/\(chance(85) ? "https" : "http")/\(one(of: hosts)).test\(target)"
        }
        var plan = RequestPlan(url: "\(scheme)://\(host).test\(target)")
        if host == "a", scheme == "https", chance(70) { plan.url = String(target.dropFirst()) }
        plan.kind = kind
        switch kind {
        case .data: plan.method = one(of: ["GET", "GET", "GET", "HEAD", "POST", "PUT", "DELETE"])
        case .upload: plan.method = one(of: ["POST", "PUT"])
        case .decoded: plan.method = one(of: ["GET", "POST"])
        case .stream, .events, .download, .segments: break
        }
        if !faults.isEmpty, chance(faultChance) { plan.faults = (0...below(3)).map { _ in chance(25) ? .none : one(of: faults) } }
        if limits, chance(20) { plan.timeout = one(of: [20, 1_000]) }
        if limits, chance(20) { plan.deadline = one(of: [5, 50, 2_000]) }
        if chance(10) { plan.retries = 2 }
        plan.isIdempotent = chance(10)
        plan.file = below(2)
        plan.isAwaited = chance(40)
        return plan
    }
}
