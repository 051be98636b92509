import Foundation
import NessHTTP
import NessLock

/// The servers of a program: three origins with resources, logins, redirects, files and events. Written from RFC 9110, 9111 and 6265, and
/// without a look at the library's code.
final class World: Sendable {
    /// One version of a resource, and the time from which on it was the current one.
    struct Version: Sendable { let at: ContinuousClock.Instant }

    struct State: Sendable {
        /// The versions of each resource, by its address.
        var versions: [String: [ContinuousClock.Instant]] = [:]
        /// The number of times that the server acted on each operation.
        var acted: [Int: Int] = [:]
        /// The number of exchanges of an operation.
        var exchanges: [Int: Int] = [:]
        /// The number of the last token, by user. Only the last is valid, and it expires after some uses.
        var tokens: [Int: Int] = [:]
        var uses = 0
        var open: [String: Int] = [:]
        var mostOpen: [String: Int] = [:]
        var totalOpen = 0
        var mostTotal = 0
        var starts: [ContinuousClock.Instant] = []
        var broken: [String] = []
        var trace: [String] = []
    }

    static let secretHeader = "X-Api-Key"
    private let faults: [Int: [Fault]]
    private let state = Lock(State())
    private let begin = ContinuousClock.now
    let isTraced: Bool

    init(_ program: Program, isTraced: Bool) {
        self.isTraced = isTraced
        var faults: [Int: [Fault]] = [:]
        for operation in program.operations {
            if case .send(let plan) = operation.action { faults[operation.id] = plan.faults }
        }
        self.faults = faults
    }

    var snapshot: State { state.withLock { $0 } }

    func breaks(_ rule: @autoclosure () -> String) {
        let text = rule()
        trace("!! \(text)")
        state.withLock { $0.broken.append(text) }
    }

    func trace(_ text: @autoclosure () -> String) {
        guard isTraced else { return }
        let line = "\(ContinuousClock.now - begin) \(text())"
        state.withLock { $0.trace.append(line) }
    }

    /// The number of the current version of a resource.
    func version(_ address: String) -> Int { state.withLock { $0.versions[address]?.count ?? 0 } }

    // MARK: the server

    func serve(_ connection: Connection) async throws {
        let request = connection.request
        let (host, operation) = (request.url.host ?? "", request.headers["X-Operation"].flatMap { Int($0) } ?? 0)
        let origin = "\(request.url.scheme ?? "")://\(host)"
        checkSecrets(request, origin)
        // The requests that a loader makes itself, below all queues, count for no limit.
        let counts = !request.url.path.hasSuffix("/other")
        let number = state.withLock { state in
            state.exchanges[operation, default: 0] += 1
            guard counts else { return state.exchanges[operation, default: 0] }
            state.open[origin, default: 0] += 1
            state.totalOpen += 1
            state.mostOpen[origin] = max(state.mostOpen[origin] ?? 0, state.open[origin] ?? 0)
            state.mostTotal = max(state.mostTotal, state.totalOpen)
            state.starts.append(ContinuousClock.now)
            return state.exchanges[operation, default: 0]
        }
        defer {
            state.withLock { state in
                guard counts else { return }
                state.open[origin, default: 0] -= 1
                state.totalOpen -= 1
            }
        }
        let faults = faults[operation] ?? []
        let fault = faults.indices.contains(number - 1) ? faults[number - 1] : .none
        trace("\(operation): \(request.method.rawValue) \(request.url) \(request.headers["Range"] ?? "") \(fault)")
        do {
            try await WorldExchange(world: self, connection: connection, origin: origin, operation: operation, fault: fault).run()
        } catch {
            trace("\(operation): ended with \(error is CancellationError ? "a cancellation" : "\(error)".prefix(60).description)")
            throw error
        }
        trace("\(operation): complete")
    }

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

    // MARK: what the server knows

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
