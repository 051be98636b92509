import Foundation
import NessHTTP
import NessLock
import Synchronization

/// The servers of a program: three origins with resources, logins, redirects, files and events. Written from RFC 9110, 9111 and 6265, and
/// without a look at the library's code.
final class World: Sendable {
    /// The exchanges that a manager has on the wire.
    struct Load: Sendable {
        var open: [String: Int] = [:]
        var mostOpen: [String: Int] = [:]
        var totalOpen = 0
        var mostTotal = 0
        var starts: [ContinuousClock.Instant] = []
        /// The number of exchanges with one origin, and the time from which it has applied.
        var limit = (count: Int.max, since: ContinuousClock.now)
    }

    /// A response of a resource: the manager that received it, and the time.
    struct Response: Sendable {
        let manager: Int
        let at: ContinuousClock.Instant
    }

    /// The bytes of a large body that the client has accepted, and those of them that its reader has taken.
    struct Flow: Sendable {
        var accepted = 0
        var read = 0
    }

    struct State: Sendable {
        /// The times from which on each version of a resource was the current one, by its address.
        var versions: [String: [ContinuousClock.Instant]] = [:]
        /// The number of times that the server acted on each operation.
        var acted: [Int: Int] = [:]
        /// The number of exchanges of an operation.
        var exchanges: [Int: Int] = [:]
        /// The number of the last token, by user. Only the last is valid, and it expires after some uses.
        var tokens: [Int: Int] = [:]
        var uses = 0
        var loads: [Load]
        /// The responses with an `X-Serial`, which is the index here.
        var responses: [Response] = []
        /// The hosts to which a request has to send a cookie, by operation.
        var cookies: [Int: Set<String>] = [:]
        var flows: [Int: Flow] = [:]
        var broken: [String] = []
    }

    static let secretHeader = "X-Api-Key"
    /// The number in place of a user's, in a response that is for nobody in particular.
    static let nobody = 9
    private let program: Program
    private let faults: [Int: [Fault]]
    private let state: Lock<State>
    private let begin = ContinuousClock.now
    let isTraced: Bool
    /// Behind a lock without switch points, so that a traced program takes the same steps.
    private let lines = Mutex<[String]>([])

    init(_ program: Program, isTraced: Bool) {
        self.isTraced = isTraced
        self.program = program
        state = Lock(State(loads: program.managers.map { _ in Load() }))
        var faults: [Int: [Fault]] = [:]
        for operation in program.operations {
            if case .send(let plan) = operation.action { faults[operation.id] = plan.faults }
        }
        self.faults = faults
    }

    var snapshot: State { state.withLock { $0 } }
    var traced: [String] { lines.withLock { $0 } }

    func breaks(_ rule: @autoclosure () -> String) {
        let text = rule()
        trace("!! \(text)")
        state.withLock { $0.broken.append(text) }
    }

    func trace(_ text: @autoclosure () -> String) {
        guard isTraced else { return }
        let line = "\(ContinuousClock.now - begin) \(text())"
        lines.withLock { $0.append(line) }
    }

    /// The number of the current version of a resource.
    func version(_ address: String) -> Int { state.withLock { $0.versions[address]?.count ?? 0 } }

    // MARK: the server

    func serve(_ connection: Connection, _ manager: Int) async throws {
        let request = connection.request
        let (host, operation) = (request.url.host ?? "", request.headers["X-Operation"].flatMap { Int($0) } ?? 0)
        let origin = "\(request.url.scheme ?? "")://\(host)"
        checkSecrets(request, origin)
        checkCookies(request, operation, manager)
        // The requests that a loader makes itself, below all queues, count for no limit.
        let counts = !request.url.path.hasSuffix("/other")
        let number = state.withLock { state in
            state.exchanges[operation, default: 0] += 1
            guard counts else { return state.exchanges[operation, default: 0] }
            state.loads[manager].begin(origin)
            return state.exchanges[operation, default: 0]
        }
        if counts { checkLimit(origin, manager) }
        defer {
            state.withLock { state in
                guard counts else { return }
                state.loads[manager].open[origin, default: 0] -= 1
                state.loads[manager].totalOpen -= 1
            }
        }
        let faults = faults[operation] ?? []
        let fault = faults.indices.contains(number - 1) ? faults[number - 1] : .none
        trace("\(operation), manager \(manager): \(request.method.rawValue) \(request.url) \(request.headers["Range"] ?? "") \(fault)")
        do {
            try await WorldExchange(
                world: self, connection: connection, manager: manager, origin: origin, operation: operation, fault: fault
            ).run()
        } catch {
            trace("\(operation): ended with \(error is CancellationError ? "a cancellation" : "\(error)".prefix(60).description)")
            throw error
        }
        trace("\(operation): complete")
    }

    /// "A pause starts no exchange", and a lower limit none above it (RateLimitsAndCircuitBreaker). An exchange that was about to start when
    /// the limit changed starts at the same moment. A loader at `.exchange` runs below the limit, and may send later or twice.
    private func checkLimit(_ origin: String, _ manager: Int) {
        if program.managers[manager].loaders.contains(where: { $0.place == 3 && $0.kind != .passes }) { return }
        let load = snapshot.loads[manager], open = load.open[origin] ?? 0
        guard load.limit.since < ContinuousClock.now, open > load.limit.count else { return }
        breaks("manager \(manager) starts exchange \(open) with \(origin), at a limit of \(load.limit.count)")
    }

    /// Notes that a manager's limit of exchanges with one origin has changed.
    func limit(_ manager: Int, to count: Int) { state.withLock { $0.loads[manager].limit = (count, ContinuousClock.now) } }

    private func checkSecrets(_ request: HTTPRequest, _ origin: String) {
        if origin != "https://a.test" {
            if let token = request.headers["Authorization"] { breaks("a credential goes to another origin: \(token) to \(origin)") }
            if let key = request.headers[Self.secretHeader] { breaks("a secret field goes to another origin: \(key) to \(origin)") }
        }
        if let cookie = request.headers["Cookie"], !cookie.contains("host-\(request.url.host ?? "")") {
            breaks("a cookie goes to another origin: \(cookie) to \(origin)")
        }
        if let cookie = request.headers["Cookie"], cookie.contains("secure"), origin.hasPrefix("http:") {
            breaks("a secure cookie goes over http: \(cookie)")
        }
    }

    /// "Managers may share a jar" (CookieJar): the cookies of a jar go to the requests of its managers, and to no others.
    private func checkCookies(_ request: HTTPRequest, _ operation: Int, _ manager: Int) {
        let cookie = request.headers["Cookie"]
        if let cookie, !program.managers(withCookiesOf: manager).contains(where: { cookie.contains("-m\($0)") }) {
            breaks("manager \(manager) sends a cookie of another jar: \(cookie)")
        }
        let expected = state.withLock { $0.cookies[operation] ?? [] }
        guard cookie == nil, request.url.scheme == "https", let host = request.url.host, expected.contains(host) else { return }
        breaks("request \(operation) carries no cookie, but one of \(host) was stored before")
    }

    /// Notes the hosts to which the requests of an operation have to send a cookie.
    func expectCookies(_ hosts: Set<String>, of operation: Int) { state.withLock { $0.cookies[operation] = hosts } }

    /// Expects no cookie any more, because a jar was emptied.
    func expectNoCookies() { state.withLock { $0.cookies = [:] } }

    // MARK: what the server knows

    /// The number of the last response.
    var lastResponse: Int { state.withLock { $0.responses.count - 1 } }

    /// Notes a response.
    /// - Returns: Its number.
    func respond(to manager: Int) -> Int {
        state.withLock { state in
            state.responses.append(Response(manager: manager, at: ContinuousClock.now))
            return state.responses.count - 1
        }
    }

    /// The number of exchanges so far.
    var exchangeCount: Int { state.withLock { $0.loads.reduce(0) { $0 + $1.starts.count } } }

    /// Notes the bytes of a large body that a reader has taken.
    func didRead(_ count: Int, _ operation: Int) { state.withLock { $0.flows[operation, default: Flow()].read += count } }

    /// Notes the bytes of a large body that the client has accepted. "At most 1 MiB waits in memory. Then the server has to wait"
    /// (StreamingAChatAPI). One more chunk may be on its way to the reader.
    func didAccept(_ count: Int, _ operation: Int) {
        let waiting = state.withLock { state in
            state.flows[operation, default: Flow()].accepted += count
            return state.flows[operation].map { $0.accepted - $0.read } ?? 0
        }
        if waiting > (1 << 20) + LargeBody.chunk { breaks("\(waiting) bytes of stream \(operation) wait in memory") }
    }

    /// Acts on a write.
    /// - Returns: The new version.
    func act(_ operation: Int, on address: String) -> Int {
        state.withLock { state in
            state.acted[operation, default: 0] += 1
            state.versions[address, default: []].append(ContinuousClock.now)
            return state.versions[address]?.count ?? 0
        }
    }

    /// Returns the user of a credential; `nil` if it is not valid.
    func user(of field: String?) -> Int? {
        guard let parts = field?.dropFirst("Bearer secret-token-".count).split(separator: "-"), parts.count == 2, let user = Int(parts[0])
        else { return nil }
        return state.withLock { state in
            guard state.tokens[user] == Int(parts[1]) else { return nil }
            state.uses += 1
            if state.uses % 5 == 0 { state.tokens[user, default: 0] += 1 }
            return user
        }
    }

    /// Issues a new token, which makes the earlier ones invalid.
    func token(for user: Int) -> String {
        state.withLock { state in
            state.tokens[user, default: 0] += 1
            return "secret-token-\(user)-\(state.tokens[user] ?? 0)"
        }
    }
}

extension World.Load {
    mutating func begin(_ origin: String) {
        open[origin, default: 0] += 1
        totalOpen += 1
        mostOpen[origin] = max(mostOpen[origin] ?? 0, open[origin] ?? 0)
        mostTotal = max(mostTotal, totalOpen)
        starts.append(ContinuousClock.now)
    }
}
