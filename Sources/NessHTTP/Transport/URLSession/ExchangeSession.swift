import Foundation
import NessLock

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Runs exchanges on at most one URLSession at a time. It is made for the first exchange, and ends after some time without one, or with
/// `finish()`.
///
/// URLSession ends the process if a task is made after its end. Therefore everything that makes or ends a URLSession or makes a task runs
/// on the start queue, and nothing else does.
final class ExchangeSession: Sendable {
    private struct State: Sendable {
        var driver: (any SessionDriver)?
        var isFinished = false
        /// The number of callers between `reserve()` and `release()`. The URLSession does not end meanwhile.
        var useCount = 0
        /// The number of calls of `reserve()`.
        var reservationCount = 0
        /// True while a timer runs that may end the URLSession.
        var isWatched = false
        var exchanges: [ObjectIdentifier: URLSessionExchange] = [:]
        /// True once a certificate of the server has met the demands. A later URLSession may resume the checked TLS session, and then no
        /// certificate is checked again.
        var hasChecked = false
        /// The client identity in URLSession's form, once it has been read.
        var credential: URLCredential?

        var isIdle: Bool { useCount == 0 && exchanges.isEmpty }
    }

    static let startQueue = DispatchQueue(label: "ness.urlsession.start")

    private let state = Lock(State())
    private let source: SessionSource
    private let onServerTrust: TrustAnswer
    /// The TLS demands of all requests. They are kept here, because a challenge may come without an exchange.
    private let demands: TLSDemands?
    /// The time without an exchange after which the URLSession ends; `nil` for no end.
    private let idleLimit: Duration?
    private let open: OpenSessions
    /// Runs the decisions about certificates. They may take long, and only the affected connection waits.
    private let trustQueue = DispatchQueue(label: "ness.urlsession.trust", attributes: .concurrent)
    /// Rejects redirects. On Linux this waits for a running cancellation, which the thread that calls the delegate must not.
    private let redirectQueue = DispatchQueue(label: "ness.urlsession.redirects")

    /// Makes a session for exchanges. The URLSession is made later.
    /// - Parameters:
    ///   - source: Makes the URLSession.
    ///   - onServerTrust: The application's closure about certificates.
    ///   - demands: The demands of all requests of the session.
    ///   - idleLimit: The time without an exchange after which the URLSession ends; `nil` for no end.
    ///   - open: Counts the URLSessions that have not ended.
    init(
        _ source: SessionSource, _ onServerTrust: TrustAnswer, demands: TLSDemands? = nil, idleLimit: Duration? = nil,
        open: OpenSessions
    ) {
        (self.source, self.onServerTrust, self.demands, self.idleLimit, self.open) = (source, onServerTrust, demands, idleLimit, open)
    }

    // MARK: the life of the URLSession

    /// Keeps the URLSession from ending until `release()`.
    /// - Returns: False if there is no URLSession, so that `start` needs a configuration.
    func reserve() -> Bool {
        state.withLock { state in
            state.useCount += 1
            state.reservationCount += 1
            return state.driver != nil
        }
    }

    /// Ends a use that `reserve()` has started.
    func release() {
        let isUnused = state.withLock { state in
            state.useCount -= 1
            return state.useCount == 0
        }
        if isUnused { watch() }
    }

    /// Starts the timer that ends the URLSession if it is not used for some time.
    private func watch() {
        guard let idleLimit else { return }
        let count: Int? = state.withLock { state in
            guard state.useCount == 0, state.driver != nil, !state.isWatched else { return nil }
            state.isWatched = true
            return state.reservationCount
        }
        guard let count else { return }
        source.schedule(idleLimit) { [weak self] in self?.endIfUnused(since: count) }
    }

    /// Ends the URLSession if there was no use in the meantime. Runs on the start queue.
    private func endIfUnused(since count: Int) {
        let unused: (any SessionDriver)? = state.withLock { state in
            state.isWatched = false
            return state.isIdle && state.reservationCount == count ? state.driver.take() : nil
        }
        if let unused { unused.finishTasksAndInvalidate() } else { watch() }
    }

    /// Starts an exchange. Runs on the start queue.
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - request: Its request.
    ///   - configuration: The configuration for a new URLSession. `nil` if `reserve()` has returned true.
    ///   - priority: Its priority. Foundation on Linux has none.
    ///   - description: The description of the task, which Instruments shows.
    ///   - isLast: True if the session ends with this exchange.
    func start(
        _ exchange: URLSessionExchange, _ request: URLRequest, _ configuration: URLSessionConfiguration?,
        priority: RequestPriority = .normal, description: String? = nil, isLast: Bool
    ) {
        defer { if isLast { finishNow() } }
        // A task that is never resumed leaks its session. Therefore this check comes before the task is made.
        guard !exchange.hasEnded else { return }
        guard let driver = driver(configuration) else { return exchange.end(.failure(TransportError.afterShutdown)) }
        guard exchange.takeSlot() else { return exchange.end(.failure(CancellationError())) }
        let task = driver.makeTask(request, isStreamed: exchange.isStreamed)
        task.describe(description, priority)
        state.withLock { $0.exchanges[ObjectIdentifier(task)] = exchange }
        exchange.started(task)
        task.resume()
    }

    /// Returns the URLSession, and makes it for the first exchange. `nil` after `finish()` and after the shutdown of the transport.
    private func driver(_ configuration: URLSessionConfiguration?) -> (any SessionDriver)? {
        let (driver, isFinished) = state.withLock { ($0.driver, $0.isFinished) }
        if let driver { return driver }
        guard !isFinished, let configuration, open.begin() else { return nil }
        let made = source.makeDriver(configuration, self, onServerTrust)
        state.withLock { $0.driver = made }
        return made
    }

    /// Rejects new exchanges, and ends the URLSession after the running ones. Exchanges that are about to start come first.
    func finish() { Self.startQueue.async { self.finishNow() } }

    private func finishNow() {
        let last = state.withLock { state in
            state.isFinished = true
            return state.driver.take()
        }
        last?.finishTasksAndInvalidate()
    }

    // MARK: events of the URLSession

    private func exchange(for task: any SessionTask) -> URLSessionExchange? {
        state.withLock { $0.exchanges[ObjectIdentifier(task)] }
    }

    /// Returns the exchange of a task that has received a head, unless the head comes from a server whose certificate was not checked. The
    /// exchange then ends.
    private func checkedExchange(for task: any SessionTask) -> URLSessionExchange? {
        let (exchange, hasChecked) = state.withLock { ($0.exchanges[ObjectIdentifier(task)], $0.hasChecked) }
        guard let refusal = demands?.refusal(hasChecked: hasChecked) else { return exchange }
        exchange?.end(.failure(refusal))
        return nil
    }

    /// Called when the URLSession has ended.
    func ended() { open.end() }

    func received(_ response: URLResponse, by task: any SessionTask) { checkedExchange(for: task)?.received(response) }

    func receivedInterim(_ response: HTTPURLResponse, by task: any SessionTask) { checkedExchange(for: task)?.receivedInterim(response) }

    func received(_ data: Data, by task: any SessionTask) { exchange(for: task)?.received(data) }

    func sent(_ total: Int64, by task: any SessionTask) { exchange(for: task)?.sent(total) }

    func makeBodyStream(for task: any SessionTask) -> InputStream? { exchange(for: task)?.makeBodyStream() }

    func measured(_ connection: ConnectionMetrics?, hasBegun: Bool, by task: any SessionTask) {
        exchange(for: task)?.measured(connection, hasBegun: hasBegun)
    }

    #if canImport(Network)
    func waitsForNetwork(_ task: any SessionTask) { exchange(for: task)?.waitForNetwork() }
    #endif

    /// Handles a redirect, which the task must not follow.
    /// - Parameter refuse: Tells the task not to follow. On Apple platforms it is always called, because the task waits for it. On Linux it
    ///   is not called after the task was canceled.
    func redirected(_ response: HTTPURLResponse, by task: any SessionTask, refuse: @escaping @Sendable () -> Void) {
        guard let exchange = checkedExchange(for: task) else { return source.system == .apple ? refuse() : () }
        exchange.redirected(response)
        redirectQueue.async { exchange.answerRedirect(refuse) }
    }

    func completed(_ error: (any Error)?, by task: any SessionTask) {
        let response = task.response
        let isRefused = demands?.refusal(hasChecked: state.withLock { $0.hasChecked }) != nil
        let exchange = state.withLock { $0.exchanges.removeValue(forKey: ObjectIdentifier(task)) }
        exchange?.leavePlace()
        exchange?.completed(error, isRefused ? nil : response)
        exchange?.releaseBody()
    }

    // MARK: challenges

    func challenged(
        _ challenge: SessionChallenge, by task: any SessionTask, answer: @escaping @Sendable (ChallengeAnswer) -> Void
    ) {
        let exchange = exchange(for: task)
        if source.system == .linux {
            // On Linux a Basic challenge comes only after the whole response, and only a credential or a cancellation ends the task.
            exchange?.challenged(challenge.failureResponse)
            return URLSessionExchange.cancelQueue.async { answer(.cancel) }
        }
        let usesSystem = exchange?.usesSystemCredentials ?? false
        switch AuthenticationMethod(challenge.method, isProxy: challenge.isFromProxy, usesSystemCredentials: usesSystem) {
        case .http: answer(.reject)
        case .system: answer(.systemDefault)
        case .clientCertificate:
            guard let identity = demands?.identity else { return answer(.systemDefault) }
            trustQueue.async { [self] in answer(show(identity, challenge, exchange)) }
        case .serverTrust:
            if demands?.concernServer != true, challenge.decide == nil { return answer(.systemDefault) }
            trustQueue.async { [self] in answer(judge(challenge, exchange)) }
        }
    }

    /// Makes the credential of the client identity, once.
    private func show(_ identity: ClientIdentity, _ challenge: SessionChallenge, _ exchange: URLSessionExchange?) -> ChallengeAnswer {
        if let known = state.withLock({ $0.credential }) { return .use(known) }
        do {
            // Outside the lock: before macOS 15 the system uses the user's keychain for it.
            let read = try challenge.credential(identity)
            state.withLock { $0.credential = read }
            return .use(read)
        } catch {
            exchange?.rejected(.clientCertificate, "\(error)")
            return .cancel
        }
    }

    /// Decides about a server's certificate, by the demands and by the application's closure.
    private func judge(_ challenge: SessionChallenge, _ exchange: URLSessionExchange?) -> ChallengeAnswer {
        if let keys = demands?.publicKeys, !challenge.hasKey(keys) {
            exchange?.rejected(.pinMismatch, "the server's public key is not pinned")
            return .cancel
        }
        var answer = ChallengeAnswer.systemDefault
        if let authorities = demands?.authorities {
            guard challenge.isSigned(authorities) else {
                exchange?.rejected(.untrusted, "the server's certificate is not signed by any of the given authorities")
                return .cancel
            }
            answer = .use(challenge.acceptance())
        }
        // The closure may reject what the rules accept.
        switch challenge.decide?() {
        case .systemDefault?, nil: break
        case .cancel?:
            exchange?.rejected(.pinMismatch, "the serverTrust closure rejected the server's certificate")
            return .cancel
        case let decided?: answer = decided
        }
        state.withLock { $0.hasChecked = true }
        return answer
    }
}
