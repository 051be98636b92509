import Foundation
import NessHTTP
import NessLock

/// The history of one request of a program.
struct Outcome: Sendable {
    let plan: RequestPlan
    /// The index of its manager.
    let manager: Int
    var startedAt: ContinuousClock.Instant
    /// The state of the program when the request started.
    var start: Execution.Known
    /// The users who were signed in since the start. Empty without an authentication.
    var users: Set<Int>
    var endedAt: ContinuousClock.Instant?
    var response: HTTPResponse?
    var body: String?
    var error: (any Error)?
    /// The number of times that the promise has settled, as its handlers see it.
    var settledCount = 0
    var wasPaused = false
    var wasDropped = false
    var progress: TransferProgress?
}

/// Runs a program: its managers, its actors and, at the end, the requests that show that nothing is left.
final class Execution: Sendable {
    /// The effects that have been confirmed to a caller, and that later requests must see.
    struct Known: Sendable {
        /// The versions of writes, by manager and address.
        var writes: [Int: [String: Int]] = [:]
        /// The number of the last response that may not be in a manager's cache any more, by manager and user. The user 9 is everybody.
        var forgotten: [Int: [Int: Int]] = [:]
        /// The hosts whose cookie is in a manager's jar.
        var cookies: [Int: Set<String>] = [:]
        /// The number of starts and ends of resets, by the manager whose jar they empty.
        var resets: [Int: Int] = [:]

        /// Notes that a jar is emptied.
        mutating func emptyJar(of managers: Set<Int>) {
            for manager in managers {
                cookies[manager] = nil
                resets[manager, default: 0] += 1
            }
        }
    }

    /// The history of one manager.
    struct ManagerState: Sendable {
        var user: Int
        var isShutDown = false
        var wasReset = false
        /// True if something has dropped all its requests.
        var wasEmptied = false
        var hasNewLimit = false
        weak var manager: Ness?
    }

    struct State: Sendable {
        var outcomes: [Int: Outcome] = [:]
        var handles: [Int: Handle] = [:]
        var known = Known()
        var managers: [ManagerState]
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
    let logs: [EventLog]
    let folder: URL
    private let state: Lock<State>
    private let authentications: [RefreshableAuthentication<String>?]
    /// Keeps a manager's user and its credential together.
    private let signing = Lock(())
    private let caches = Lock<[HTTPCache?]>([])

    init(_ program: Program, isTraced: Bool) {
        self.program = program
        world = World(program, isTraced: isTraced)
        folder = Scratch.folder.appending(path: "program")
        logs = program.managers.map { _ in EventLog() }
        authentications = program.managers.map { $0.authentication ? Self.authentication($0) : nil }
        state = Lock(State(managers: program.managers.map { ManagerState(user: $0.user ?? 0) }))
    }

    var snapshot: State { state.withLock { $0 } }

    /// Releases the promises. From then on nothing of the program may keep its manager.
    func release() {
        caches.replace(\.self, with: [])
        state.withLock { ($0.handles, $0.outcomes) = ([:], [:]) }
    }

    private static func authentication(_ plan: ManagerPlan) -> RefreshableAuthentication<String> {
        RefreshableAuthentication(
            credential: signedOut(plan.user ?? 0), userIdentifier: { String($0.prefix(1)) },
            isStale: { plan.refreshesAhead && $0.hasSuffix("-0") },
            apply: { ["Authorization": "Bearer \($0.dropFirst(2))"] },
            renew: { stale, ness in
                let user = stale.prefix(1)
                let token = try await ness.httpRequest(.post, withUrl: "https://a.test/token/\(user)").text()
                return "\(user) \(token)"
            })
    }

    /// The credential before the first refresh, which no server accepts.
    private static func signedOut(_ user: Int) -> String { "\(user) secret-token-\(user)-0" }

    // MARK: the run

    func run() async {
        // A program that hung may have left its files.
        try? FileManager.default.removeItem(at: folder)
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for number in 0..<2 { try? Data("old".utf8).write(to: file(number)) }
        let stores = Stores.all(of: program, in: folder)
        caches.replace(\.self, with: stores.map(\.cache))
        let managers = program.managers.indices.map { index in
            ManagerMaker(
                plan: program.managers[index], index: index, world: world, log: logs[index], authentication: authentications[index],
                stores: stores[index]
            ).make()
        }
        state.withLock { state in for (index, manager) in managers.enumerated() { state.managers[index].manager = manager } }
        await withTaskGroup(of: Void.self) { group in
            for actor in Set(program.operations.map(\.actor)).sorted() {
                group.addTask { [self] in
                    for operation in program.operations where operation.actor == actor {
                        if operation.delay > 0 { try? await Task.sleep(for: .milliseconds(operation.delay)) }
                        await perform(operation, managers)
                    }
                }
            }
        }
        // Nobody else resumes a paused download, or raises the limit again.
        for (index, ness) in managers.enumerated() { setLimit(program.managers[index].hostLimit, index, ness) }
        for (_, handle) in snapshot.handles.sorted(by: { $0.key < $1.key }) {
            handle.resume()
            await handle.end()
        }
        try? await Task.sleep(for: .seconds(1_000))
        for (index, ness) in managers.enumerated() {
            if !snapshot.managers[index].isShutDown { await probe(ness) }
            await ness.shutdown(within: .seconds(1))
        }
        // The observers of a drop are notified on another thread.
        try? await Task.sleep(for: .seconds(1))
        Rules(self).check()
        try? FileManager.default.removeItem(at: folder)
    }

    func file(_ number: Int) -> URL { folder.appending(path: "file\(number)") }

    /// Verifies that nothing is left: after a while without requests each origin responds at once.
    private func probe(_ ness: Ness) async {
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

    private func perform(_ operation: Operation, _ managers: [Ness]) async {
        world.trace("actor \(operation.actor): \(operation.id) \(operation.action) \(operation.manager.map { "manager \($0)" } ?? "")")
        let index = operation.manager ?? 0
        let ness = managers[index]
        switch operation.action {
        case .send(let plan): await send(plan, operation.id, index, ness)
        case .drop(let id):
            guard let handle = snapshot.handles[id] else { return }
            noteDrop(id)
            handle.drop()
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
        case .dropAll:
            state.withLock { $0.managers[index].wasEmptied = true }
            ness.dropAllRequests()
        case .reset: await reset(ness, index)
        case .signIn(let user):
            let credential = "\(user) \(world.token(for: user))"
            signing.withLock { _ in
                noteUser(user, index)
                authentications[index]?.credential = credential
            }
        case .signOut:
            let user = program.managers[index].user ?? 0
            signing.withLock { _ in
                authentications[index]?.credential = Self.signedOut(user)
                noteUser(user, index)
            }
        case .switchEnvironment:
            ness.environment = ServerEnvironment(
                baseURL: URL(string: "https://a.test/"), defaultHeaders: [World.secretHeader: "secret-key-2"],
                authentication: authentications[index])
        case .setLimit(let limit):
            state.withLock { $0.managers[index].hasNewLimit = true }
            setLimit(limit, index, ness)
            // An actor may wait for a request of a paused manager.
            guard limit == 0 else { return }
            Task {
                try? await Task.sleep(for: .seconds(30))
                setLimit(1, index, ness)
            }
        case .shutDown(let limit):
            state.withLock { ($0.managers[index].isShutDown, $0.managers[index].wasEmptied) = (true, true) }
            await ness.shutdown(within: .milliseconds(limit))
        case .clearCache: await forget(World.nobody, index) { await $0.removeAll() }
        case .forget(let user): await forget(user, index) { await $0.removeAll(of: "\(user)") }
        }
    }

    private func setLimit(_ limit: Int, _ index: Int, _ ness: Ness) {
        // First, because another thread may start exchanges before the setter returns.
        world.limit(index, to: limit)
        ness.maximumConnectionsPerHost = limit
    }

    /// "At logout, reset empties the cache and its folder" (Caching), and the jar, for all managers that share them.
    private func reset(_ ness: Ness, _ index: Int) async {
        let jar = program.managers(withCookiesOf: index)
        let number = world.lastResponse
        state.withLock { state in
            (state.managers[index].wasReset, state.managers[index].wasEmptied) = (true, true)
            state.known.emptyJar(of: jar)
        }
        world.expectNoCookies()
        await ness.reset()
        world.expectNoCookies()
        state.withLock { state in
            note(World.nobody, number, index, &state)
            state.known.emptyJar(of: jar)
        }
    }

    /// Removes responses from a manager's cache.
    private func forget(_ user: Int, _ index: Int, _ remove: (HTTPCache) async -> Void) async {
        guard let cache = caches.withLock({ $0[index] }) else { return }
        let number = world.lastResponse
        await remove(cache)
        state.withLock { note(user, number, index, &$0) }
    }

    private func note(_ user: Int, _ number: Int, _ index: Int, _ state: inout State) {
        for manager in program.managers(withCacheOf: index) {
            state.known.forgotten[manager, default: [:]][user] = max(state.known.forgotten[manager]?[user] ?? -1, number)
        }
    }

    private func noteUser(_ user: Int, _ index: Int) {
        state.withLock { state in
            state.managers[index].user = user
            for id in state.outcomes.keys where state.outcomes[id]?.endedAt == nil && state.outcomes[id]?.manager == index {
                state.outcomes[id]?.users.insert(user)
            }
        }
    }

    // MARK: one request

    private func send(_ plan: RequestPlan, _ id: Int, _ index: Int, _ ness: Ness) async {
        let cookies = state.withLock { state in
            let users: Set<Int> = program.managers[index].authentication ? [state.managers[index].user] : []
            state.outcomes[id] = Outcome(
                plan: plan, manager: index, startedAt: ContinuousClock.now, start: state.known, users: users)
            return state.known.cookies[index] ?? []
        }
        world.expectCookies(cookies, of: id)
        var builder = ness.httpRequest(HTTPMethod(rawValue: plan.method), withUrl: plan.url).set(header: "X-Operation", to: "\(id)")
        if let range = plan.range { builder = builder.set(header: "Range", to: range) }
        if let timeout = plan.timeout { builder = builder.set(timeout: .milliseconds(timeout)) }
        if let deadline = plan.deadline { builder = builder.set(deadline: .milliseconds(deadline)) }
        if let retries = plan.retries { builder = builder.set(retry: .backoff(maxRetryCount: retries)) }
        if plan.isIdempotent { builder = builder.set(isIdempotent: true) }
        if ["POST", "PUT"].contains(plan.method) { builder = builder.set(stringBody: "operation \(id)") }
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
            note(outcome, &state.known)
        }
    }

    /// Notes what later requests have to see.
    private func note(_ outcome: Outcome, _ known: inout Known) {
        guard let response = outcome.response else { return }
        // The jar may have been emptied since the response arrived.
        let isKept = outcome.start.resets[outcome.manager] == known.resets[outcome.manager]
        if program.managers[outcome.manager].cookies, isKept, response.source == .network, response.headers.contains("Set-Cookie"),
            response.url.scheme == "https", let host = response.url.host
        {
            for manager in program.managers(withCookiesOf: outcome.manager) { known.cookies[manager, default: []].insert(host) }
        }
        guard (200..<300).contains(response.statusCode), !response.request.method.isSafe, let body = outcome.body.flatMap(Delivered.init)
        else { return }
        known.writes[outcome.manager, default: [:]][body.address] = max(
            known.writes[outcome.manager]?[body.address] ?? 0, body.version)
    }

    /// Notes that a request is dropped.
    func noteDrop(_ id: Int) { state.withLock { $0.outcomes[id]?.wasDropped = true } }
}

/// The body of a resource, as the world writes it.
struct Delivered {
    let address: String
    let version: Int
    let user: Int

    /// Reads a body; `nil` if it is not the whole body of one version.
    init?(_ body: String) {
        let parts = body.split(separator: " ")
        guard parts.count == 5, let version = Int(parts[1]), let user = Int(parts[2]) else { return nil }
        self.init(String(parts[0]), version, user)
        if text != body { return nil }
    }

    init(_ address: String, _ version: Int, _ user: Int) { (self.address, self.version, self.user) = (address, version, user) }

    /// The whole body.
    var text: String { "\(address) \(version) \(user) \(String(repeating: "v\(version).", count: 20)) end" }
}
