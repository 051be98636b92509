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

    /// The features of a program's requests. Swarm testing: each program leaves some out.
    private struct Swarm {
        var kinds: [RequestPlan.Kind]
        var resources: [String]
        var hosts: [String]
        var paths: Int
        var faults: [Fault]
        var faultChance: Int
        var hasLimits: Bool
        var hasRanges: Bool
        var hasReaders: Bool
        /// The numbers of redirects before a resource.
        var redirects = [0, 0, 0, 1, 2]
    }

    private mutating func program(_ seed: UInt64) -> Program {
        var program = Program(seed: seed, manager: manager(), operations: [])
        if chance(35) {
            program.others = (0...below(2)).map { _ in manager() }
            program.shared = Program.Shared(cache: chance(80), cookies: chance(50))
            if program.shared?.cache == true { share(&program) }
        }
        let hasRate = program.managers.contains { $0.rate != nil }
        var swarm = Swarm(
            kinds: RequestPlan.Kind.allCases.filter { _ in chance(50) } + [.data],
            resources: ["resource", "private", "fresh", "varies", "mine"].filter { _ in chance(60) } + ["resource"],
            hosts: chance(50) ? ["a", "b", "c"] : ["a"], paths: one(of: [1, 2, 4]),
            faults: Fault.allCases.filter { $0 != .none && chance(40) && !($0 == .status408Stale && hasRate) },
            faultChance: one(of: [0, 15, 50]), hasLimits: chance(50), hasRanges: chance(25), hasReaders: chance(30))
        if program.shared?.cache == true, chance(70) { meet(&swarm) }
        let delays = one(of: [1, 10, 100, 3_000])
        let actors = 1 + below(8)
        let disturbs = chance(60)
        var operations: [Operation] = []
        var requests: [Int] = []
        for id in 1...(5 + below(36)) {
            let action: Operation.Action
            if requests.isEmpty || chance(disturbs ? 55 : 80) {
                requests.append(id)
                action = .send(request(swarm))
            } else {
                action = disturbance(one(of: requests), disturbs, program)
            }
            var operation = Operation(id: id, actor: below(actors), delay: chance(50) ? 0 : below(delays), action: action)
            if let others = program.others { operation.manager = below(others.count + 1) }
            operations.append(operation)
        }
        program.operations = operations
        return program
    }

    /// Gives most managers a cache, and few other differences, so that one often finds the responses of another.
    private mutating func share(_ program: inout Program) {
        program.manager.cache = program.manager.cache ?? one(of: ManagerPlan.Cache.allCases)
        program.others = program.others?.map { plan in
            var plan = plan
            if chance(80) { plan.cache = program.manager.cache }
            if chance(50) { plan.authentication = program.manager.authentication }
            if chance(50) { plan.cookies = program.manager.cookies }
            plan.user = below(2)
            return plan
        }
    }

    /// Lets the requests of several managers meet at a few resources that a cache keeps.
    private mutating func meet(_ swarm: inout Swarm) {
        swarm.kinds = [.data, .decoded]
        swarm.resources = ["private", "fresh", "varies"].filter { _ in chance(50) } + ["mine"]
        swarm.hosts = ["a"]
        swarm.paths = one(of: [1, 2])
        swarm.redirects = one(of: [[0], [0, 0, 0, 1]])
    }

    private mutating func disturbance(_ request: Int, _ disturbs: Bool, _ program: Program) -> Operation.Action {
        guard disturbs else { return .wait(request) }
        let hasUsers = program.managers.contains(where: \.authentication)
        switch below(21) {
        case 0...4: return .wait(request)
        case 5...9: return .drop(request)
        case 10, 11: return .pause(request)
        case 12, 13: return .resume(request)
        case 14: return .dropAll
        case 15: return .reset
        case 16: return hasUsers ? .signIn(user: below(2)) : .wait(request)
        case 17: return hasUsers ? .signOut : .drop(request)
        case 18: return chance(50) ? .switchEnvironment : .setLimit(below(5))
        case 19: return chance(50) ? .clearCache : .forget(user: below(2))
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

    private mutating func reading() -> Reading {
        var reading = Reading(pause: one(of: [0, 0, 1, 50, 1_000]))
        if chance(60) { reading.stopsAfter = 1 + below(LargeBody.chunkCount) }
        reading.stop = one(of: Reading.Stop.allCases)
        reading.wait = one(of: [10, 3_000, 300_000])
        return reading
    }

    private mutating func request(_ swarm: Swarm) -> RequestPlan {
        let kind = one(of: swarm.kinds)
        let scheme = chance(10) ? "http" : "https"
        let host = one(of: swarm.hosts)
        var target = "/\(one(of: swarm.resources))/\(below(swarm.paths))"
        switch kind {
        case .download, .segments: target = "/file/\(below(swarm.paths))"
        case .events: target = "/events/\(below(swarm.paths))"
        case .stream where swarm.hasReaders: target = "/large/\(below(swarm.paths))"
        default: break
        }
        // One or two redirects before it.
        for _ in 0..<one(of: swarm.redirects) {
            let (status, scheme) = (one(of: [301, 302, 303, 307, 308]), chance(85) ? "https" : "http")
            target = "/redirect/\(status)/\(scheme)/\(one(of: swarm.hosts)).test\(target)"
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
        if !swarm.faults.isEmpty, chance(swarm.faultChance) {
            plan.faults = (0...below(3)).map { _ in chance(25) ? .none : one(of: swarm.faults) }
        }
        if kind == .stream, swarm.hasReaders, chance(70) { plan.reading = reading() }
        if [.data, .decoded].contains(kind), plan.method == "GET", swarm.hasRanges, chance(40) {
            plan.range = one(of: ["bytes=0-9", "bytes=5-60", "bytes=20-100000"])
        }
        if swarm.hasLimits, chance(20) { plan.timeout = one(of: [20, 1_000]) }
        if swarm.hasLimits, chance(20) { plan.deadline = one(of: [5, 50, 2_000]) }
        if chance(10) { plan.retries = 2 }
        plan.isIdempotent = chance(10)
        plan.file = below(2)
        plan.isAwaited = chance(40)
        return plan
    }
}
