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
        /// The configuration of the URLSessions. `nil` before `configure(_:)`.
        var configuration: URLSessionConfiguration?
        var driver: (any SessionDriver)?
        var isFinished = false
        /// The number of tasks that were started.
        var taskCount = 0
        /// True while a timer runs that may end the URLSession.
        var hasIdleTimer = false
        var exchanges: [ObjectIdentifier: URLSessionExchange] = [:]
        /// True once a certificate of the server has met the demands. A later URLSession may resume the checked TLS session, and then no
        /// certificate is checked again.
        var hasChecked = false
        /// The client identity in URLSession's form, once it has been read.
        var credential: URLCredential?
    }

    static let startQueue = DispatchQueue(label: "ness.urlsession.start")

    private let state = Lock(State())
    let source: SessionSource
    /// The TLS demands of all requests. They are kept here, because a challenge may arrive without an exchange.
    private let demands: TLSDemands?
    /// The time without an exchange after which the URLSession ends; `nil` for no end.
    private let idleLimit: Duration?
    private let openSessions: OpenSessions
    /// Runs the decisions about certificates. They may take long, and only the affected connection waits.
    private let trustQueue = DispatchQueue(label: "ness.urlsession.trust", attributes: .concurrent)
    /// Rejects redirects. On Linux this waits for a running cancellation, which the thread that calls the delegate must not.
    private let redirectQueue = DispatchQueue(label: "ness.urlsession.redirects")

    /// Makes a session for exchanges. The URLSession is made later.
    /// - Parameters:
    ///   - source: Makes the URLSession.
    ///   - demands: The demands of all requests of the session.
    ///   - idleLimit: The time without an exchange after which the URLSession ends; `nil` for no end.
    ///   - open: Counts the URLSessions that have not ended.
    init(_ source: SessionSource, demands: TLSDemands? = nil, idleLimit: Duration? = nil, open: OpenSessions) {
        (self.source, self.demands, self.idleLimit, openSessions) = (source, demands, idleLimit, open)
    }

    // MARK: the life of the URLSession

    /// Sets the configuration of the URLSessions, unless an earlier call has set it. Called before `start`.
    /// - Parameter make: Makes the configuration. It runs code of the application, so it runs without a lock, and in the caller's task.
    func configure(_ make: () -> URLSessionConfiguration) {
        if state.withLock({ $0.configuration != nil }) { return }
        let made = make()
        state.withLock { if $0.configuration == nil { $0.configuration = made } }
    }

    /// Starts the timer that ends the URLSession if it is not used for some time.
    private func startIdleTimer() {
        guard let idleLimit else { return }
        let count: Int? = state.withLock { state in
            guard state.exchanges.isEmpty, state.driver != nil, !state.hasIdleTimer else { return nil }
            state.hasIdleTimer = true
            return state.taskCount
        }
        guard let count else { return }
        source.schedule(idleLimit) { [weak self] in self?.endIfUnused(sinceTaskCount: count) }
    }

    /// Ends the URLSession if it had no task in the meantime. Runs on the start queue.
    private func endIfUnused(sinceTaskCount count: Int) {
        let unused: (any SessionDriver)? = state.withLock { state in
            state.hasIdleTimer = false
            return state.exchanges.isEmpty && state.taskCount == count ? state.driver.take() : nil
        }
        if let unused { unused.finishTasksAndInvalidate() } else { startIdleTimer() }
    }

    /// Starts an exchange. Runs on the start queue.
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - request: Its request.
    ///   - priority: Its priority. Foundation on Linux has none.
    ///   - description: The description of the task, which Instruments shows.
    ///   - isLast: True if the session ends with this exchange.
    func start(
        _ exchange: URLSessionExchange, _ request: URLRequest, priority: RequestPriority = .normal, description: String? = nil,
        isLast: Bool
    ) {
        defer { if isLast { finishNow() } else { startIdleTimer() } }
        // A task that is never resumed leaks its session. Therefore this check comes before the task is made.
        guard !exchange.hasEnded else { return }
        guard let driver = driver() else { return exchange.end(.failure(TransportError.afterShutdown)) }
        guard exchange.takeSlot() else { return exchange.end(.failure(CancellationError())) }
        let task = driver.makeTask(request, isStreamed: exchange.isStreamed)
        task.describe(description, priority)
        state.withLock { state in
            state.exchanges[ObjectIdentifier(task)] = exchange
            state.taskCount += 1
        }
        exchange.started(task)
        task.resume()
    }

    /// Returns the current URLSession, or makes one. Returns `nil` after `finish()` and after the shutdown of the transport.
    private func driver() -> (any SessionDriver)? {
        let (driver, configuration) = state.withLock { ($0.driver, $0.isFinished ? nil : $0.configuration) }
        if let driver { return driver }
        guard let configuration, openSessions.begin() else { return nil }
        let made = source.makeDriver(configuration, self)
        state.withLock { $0.driver = made }
        return made
    }

    /// Rejects new exchanges, and ends the URLSession after the running ones. Exchanges that wait on the start queue still run.
    func finish() { Self.startQueue.async { self.finishNow() } }

    private func finishNow() {
        let last = state.withLock { state in
            state.isFinished = true
            return state.driver.take()
        }
        last?.finishTasksAndInvalidate()
    }

    // MARK: events of the URLSession

    /// Returns the exchange of a task. `nil` once the task has completed.
    func exchange(for task: any SessionTask) -> URLSessionExchange? { state.withLock { $0.exchanges[ObjectIdentifier(task)] } }

    /// Returns the exchange of a task that has received a head, unless the head comes from a server whose certificate was not checked. The
    /// exchange then ends.
    private func checkedExchange(for task: any SessionTask) -> URLSessionExchange? {
        let (exchange, hasChecked) = state.withLock { ($0.exchanges[ObjectIdentifier(task)], $0.hasChecked) }
        guard let refusal = demands?.refusal(hasChecked: hasChecked) else { return exchange }
        exchange?.end(.failure(refusal))
        return nil
    }

    /// Called when the URLSession has ended.
    func ended() { openSessions.end() }

    func received(_ response: URLResponse, by task: any SessionTask) { checkedExchange(for: task)?.received(response) }

    func receivedInterim(_ response: HTTPURLResponse, by task: any SessionTask) { checkedExchange(for: task)?.receivedInterim(response) }

    /// Handles a redirect, which the task must not follow.
    /// - Parameter keepResponse: Makes the task keep the redirect's response. On Apple platforms it is always called, because the task waits for it.
    ///   On Linux it is not called once the task was canceled.
    func redirected(_ response: HTTPURLResponse, by task: any SessionTask, keepResponse: @escaping @Sendable () -> Void) {
        guard let exchange = checkedExchange(for: task) else {
            if source.system == .apple { keepResponse() }
            return
        }
        exchange.redirected(response)
        redirectQueue.async { exchange.answerRedirect(keepResponse) }
    }

    func completed(_ error: (any Error)?, by task: any SessionTask) {
        let response = task.response
        let isUnchecked = demands?.refusal(hasChecked: state.withLock { $0.hasChecked }) != nil
        let exchange = state.withLock { $0.exchanges.removeValue(forKey: ObjectIdentifier(task)) }
        exchange?.leavePlace()
        exchange?.completed(error, isUnchecked ? nil : response)
        exchange?.releaseBody()
        startIdleTimer()
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
        // The names are written out, because Foundation on Linux does not define all of them.
        switch challenge.method {
        // The system has the credentials that the user has set up for a proxy, and evaluates its certificate.
        case _ where challenge.isFromProxy: answer(.systemDefault)
        case "NSURLAuthenticationMethodServerTrust":
            if demands?.concernServer != true, challenge.decide == nil { return answer(.systemDefault) }
            trustQueue.async { [self] in answer(judge(challenge, exchange)) }
        case "NSURLAuthenticationMethodClientCertificate":
            // Without an identity of the host, the system sends one that the user has set up, if any.
            guard let identity = demands?.identity else { return answer(.systemDefault) }
            trustQueue.async { [self] in answer(show(identity, challenge, exchange)) }
        case "NSURLAuthenticationMethodNTLM", "NSURLAuthenticationMethodNegotiate":
            answer(exchange?.usesSystemCredentials == true ? .systemDefault : .reject)
        // The 401 is an ordinary response: the pipeline authenticates.
        case "NSURLAuthenticationMethodHTTPBasic", "NSURLAuthenticationMethodHTTPDigest": answer(.reject)
        default: answer(.systemDefault)
        }
    }

    /// Returns the credential of the client identity, which is made once.
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
