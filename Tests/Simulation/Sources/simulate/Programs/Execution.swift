import Foundation
import NessHTTP
import NessLock

/// The history of one request of a program.
struct Outcome: Sendable {
    let plan: RequestPlan
    var startedAt: ContinuousClock.Instant
    /// The versions of all writes that had been confirmed to a caller when the request started, by address.
    var confirmed: [String: Int]
    /// The users at the start.
    var users: Set<Int>
    var endedAt: ContinuousClock.Instant?
    var response: HTTPResponse?
    var body: String?
    var error: (any Error)?
    /// The number of times that the promise has settled, as its handlers see it.
    var settledCount = 0
    var wasPaused = false
    var progress: TransferProgress?
}

/// Runs a program: its manager, its actors and, at the end, the requests that show that nothing is left.
final class Execution: Sendable {
    struct State: Sendable {
        var outcomes: [Int: Outcome] = [:]
        var handles: [Int: Handle] = [:]
        var confirmed: [String: Int] = [:]
        var user = 0
        var isShutDown = false
        var wasReset = false
        var hasNewLimit = false
        weak var manager: Ness?
    }

    /// The actions that an actor can take on a request of any kind.
    struct Handle: Sendable {
        let drop: @Sendable () -> Void
        let pause: @Sendable () -> Void
        let resume: @Sendable () -> Void
        let end: @Sendable () async -> Void
    }

    let program: Program
    let world: World
    let log = EventLog()
    let folder: URL
    private let state = Lock(State())
    private let authentication: RefreshableAuthentication<String>?

    init(_ program: Program, isTraced: Bool) {
        self.program = program
        world = World(program, isTraced: isTraced)
        folder = Scratch.folder.appending(path: "program")
        authentication = program.manager.authentication ? Self.authentication(program.manager) : nil
    }

    var snapshot: State { state.withLock { $0 } }

    /// Releases the promises. From then on nothing of the program may keep its manager.
    func release() { state.withLock { ($0.handles, $0.outcomes) = ([:], [:]) } }

    private static func authentication(_ plan: ManagerPlan) -> RefreshableAuthentication<String> {
        RefreshableAuthentication(
            credential: "0 secret-token-0-0", userIdentifier: { String($0.prefix(1)) },
            isStale: { plan.refreshesAhead && $0.hasSuffix("-0") },
            apply: { ["Authorization": "Bearer \($0.dropFirst(2))"] },
            renew: { stale, ness in
                let user = stale.prefix(1)
                let token = try await ness.httpRequest(.post, withUrl: "https://a.test/token/\(user)").text()
                return "\(user) \(token)"
            })
    }

    // MARK: the run

    func run() async {
        // A program that hung may have left its files.
        try? FileManager.default.removeItem(at: folder)
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for number in 0..<2 { try? Data("old".utf8).write(to: file(number)) }
        let ness = ManagerMaker(program.manager, world, log, authentication, folder).make()
        state.withLock { $0.manager = ness }
        await withTaskGroup(of: Void.self) { group in
            for actor in Set(program.operations.map(\.actor)).sorted() {
                group.addTask { [self] in
                    for operation in program.operations where operation.actor == actor {
                        if operation.delay > 0 { try? await Task.sleep(for: .milliseconds(operation.delay)) }
                        await perform(operation, ness)
                    }
                }
            }
        }
        // Nobody else resumes a paused download, or raises the limit again.
        ness.maximumConnectionsPerHost = program.manager.hostLimit
        for (_, handle) in snapshot.handles.sorted(by: { $0.key < $1.key }) {
            handle.resume()
            await handle.end()
        }
        if !snapshot.isShutDown { await probe(ness) }
        await ness.shutdown(within: .seconds(1))
        // The observers of a drop are notified on another thread.
        try? await Task.sleep(for: .seconds(1))
        Rules(self).check()
        try? FileManager.default.removeItem(at: folder)
    }

    func file(_ number: Int) -> URL { folder.appending(path: "file\(number)") }

    /// Verifies that nothing is left: after a while without requests each origin responds at once.
    private func probe(_ ness: Ness) async {
        try? await Task.sleep(for: .seconds(1_000))
        for host in ["https://a.test", "https://b.test", "https://c.test"] {
            let start = ContinuousClock.now
            let promise = ness.httpRequest(withUrl: "\(host)/probe/\(UInt64.random(in: 0 ... .max))").withoutAuthentication()
                .set(timeout: .seconds(100)).set(deadline: .seconds(100)).dataRequest()
            do {
                let status = try await promise.value.message.statusCode
                if status != 200 { world.breaks("a request at the end gets a \(status)") }
            } catch {
                world.breaks("a request at the end fails: \(error)")
            }
            if ContinuousClock.now - start > .seconds(10) { world.breaks("a request at the end waits for \(ContinuousClock.now - start)") }
        }
    }

    private func perform(_ operation: Operation, _ ness: Ness) async {
        world.trace("actor \(operation.actor): \(operation.id) \(operation.action)")
        switch operation.action {
        case .send(let plan): await send(plan, operation.id, ness)
        case .drop(let id): snapshot.handles[id]?.drop()
        case .pause(let id):
            guard let handle = snapshot.handles[id] else { return }
            state.withLock { $0.outcomes[id]?.wasPaused = true }
            handle.pause()
            // An actor may wait for it.
            Task {
                try? await Task.sleep(for: .seconds(30))
                handle.resume()
            }
        case .resume(let id): snapshot.handles[id]?.resume()
        case .wait(let id): await snapshot.handles[id]?.end()
        case .dropAll: ness.dropAllRequests()
        case .reset:
            state.withLock { $0.wasReset = true }
            await ness.reset()
        case .signIn(let user):
            noteUser(user)
            authentication?.credential = "\(user) \(world.token(for: user))"
        case .signOut:
            authentication?.credential = "0 secret-token-0-0"
            noteUser(0)
        case .switchEnvironment:
            ness.environment = ServerEnvironment(
                baseURL: URL(string: "https://a.test/"), defaultHeaders: [World.secretHeader: "secret-key-2"],
                authentication: authentication)
        case .setLimit(let limit):
            state.withLock { $0.hasNewLimit = true }
            ness.maximumConnectionsPerHost = limit
        case .shutDown(let limit):
            state.withLock { $0.isShutDown = true }
            await ness.shutdown(within: .milliseconds(limit))
        }
    }

    private func noteUser(_ user: Int) {
        state.withLock { state in
            state.user = user
            for id in state.outcomes.keys where state.outcomes[id]?.endedAt == nil { state.outcomes[id]?.users.insert(user) }
        }
    }

    // MARK: one request

    private func send(_ plan: RequestPlan, _ id: Int, _ ness: Ness) async {
        state.withLock { state in
            state.outcomes[id] = Outcome(plan: plan, startedAt: ContinuousClock.now, confirmed: state.confirmed, users: [state.user])
        }
        var builder = ness.httpRequest(HTTPMethod(rawValue: plan.method), withUrl: plan.url).set(header: "X-Operation", to: "\(id)")
        if let timeout = plan.timeout { builder = builder.set(timeout: .milliseconds(timeout)) }
        if let deadline = plan.deadline { builder = builder.set(deadline: .milliseconds(deadline)) }
        if let retries = plan.retries { builder = builder.set(retry: .backoff(maxRetryCount: retries)) }
        if plan.isIdempotent { builder = builder.set(isIdempotent: true) }
        if ["POST", "PUT"].contains(plan.method) { builder = builder.set(body: HTTPBody("operation \(id)", contentType: "text/plain")) }
        let sender = RequestStarter(execution: self, id: id, plan: plan)
        let handle = sender.start(builder)
        state.withLock { $0.handles[id] = handle }
        if plan.isAwaited { await handle.end() }
    }

    /// Notes the outcome of a request.
    func settle(_ id: Int, _ response: HTTPResponse?, _ body: String?, _ error: (any Error)?, _ progress: TransferProgress?) {
        world.trace("\(id): settles with \(response.map { "\($0.statusCode) \($0.source)" } ?? "") \(error.map { "\($0)" } ?? "")")
        let now = ContinuousClock.now
        state.withLock { state in
            guard var outcome = state.outcomes[id] else { return }
            (outcome.response, outcome.body, outcome.error, outcome.progress) = (response, body, error, progress)
            outcome.settledCount += 1
            outcome.endedAt = now
            state.outcomes[id] = outcome
            // A write that was confirmed: from now on every read has to see it.
            guard let response, (200..<300).contains(response.statusCode), !response.request.method.isSafe, let body,
                let delivered = Delivered(body)
            else { return }
            state.confirmed[delivered.address] = max(state.confirmed[delivered.address] ?? 0, delivered.version)
        }
    }
}

/// The body of a resource, as the world writes it.
struct Delivered {
    let address: String
    let version: Int
    let user: Int

    /// Reads a body; `nil` if it is not the whole body of one version.
    init?(_ body: String) {
        let parts = body.split(separator: " ")
        guard parts.count == 5, parts[4] == "end", let version = Int(parts[1]), let user = Int(parts[2]),
            parts[3] == String(repeating: "v\(version).", count: 20)
        else { return nil }
        (address, self.version, self.user) = (String(parts[0]), version, user)
    }
}
