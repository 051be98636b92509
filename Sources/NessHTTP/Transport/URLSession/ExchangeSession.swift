import Foundation
import NessLock

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Handles a challenge about a server's certificate. On Linux there are no such challenges. `nil` leaves the decision to the system.
typealias TrustAnswer = (@Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?))?

/// A URLSession with the delegate that knows its exchanges.
final class ExchangeSession: NSObject, Sendable {
    private let session: Lock<URLSession?>
    private let router: Router

    /// Makes a session.
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - onServerTrust: Handles challenges about certificates.
    ///   - demands: The demands of all requests of the session.
    ///   - onEnd: Runs once when the session has ended, after `finish()`.
    init(
        _ configuration: URLSessionConfiguration, _ onServerTrust: TrustAnswer, demands: TLSDemands = TLSDemands(),
        onEnd: @escaping @Sendable () -> Void
    ) {
        router = Router(onServerTrust, demands: demands, onEnd: onEnd)
        #if canImport(FoundationNetworking)
        let delegateQueue = DelegateQueue()
        #else
        let delegateQueue = OperationQueue()
        delegateQueue.maxConcurrentOperationCount = 1
        #endif
        session = Lock(URLSession(configuration: configuration, delegate: router, delegateQueue: delegateQueue))
    }

    /// Starts an exchange. Runs on the start queue.
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - request: Its request.
    ///   - priority: Its priority. Foundation on Linux has none.
    ///   - description: The description of the task, which Instruments shows.
    ///   - isLast: True if the session ends with this exchange.
    func start(
        _ exchange: URLSessionExchange, _ request: URLRequest, priority: RequestPriority = .normal, description: String? = nil, isLast: Bool
    ) {
        guard let session = session.withLock({ $0 }) else {
            return exchange.end(.failure(TransportError.afterShutdown))
        }
        // A task that is never resumed leaks its session. Therefore this check comes before the task is made.
        guard !exchange.hasEnded else {
            if isLast { finish() }
            return
        }
        guard exchange.takeSlot() else {
            if isLast { finish() }
            return exchange.end(.failure(CancellationError()))
        }
        let task = exchange.isStreamed ? session.uploadTask(withStreamedRequest: request) : session.dataTask(with: request)
        task.taskDescription = description
        #if !canImport(FoundationNetworking)
        task.priority = priority.taskPriority
        #endif
        router.add(exchange, for: task)
        exchange.started(task)
        task.resume()
        if isLast { finish() }
    }

    /// Rejects new exchanges, and ends the session after the running ones.
    func finish() {
        let last = session.withLock { session in
            let last = session
            session = nil
            return last
        }
        last?.finishTasksAndInvalidate()
    }
}

/// Passes URLSession's callbacks to the exchanges that they belong to.
private final class Router: NSObject, URLSessionDataDelegate {
    private let exchanges = Lock<[Int: URLSessionExchange]>([:])
    private let onServerTrust: TrustAnswer
    /// The demands are the session's, so that they also apply to a challenge without an exchange.
    private let demands: TLSDemands
    /// True once a certificate of the server has met the demands.
    private let hasChecked = Lock(false)
    private let onEnd: @Sendable () -> Void
    #if canImport(Security)
    /// The identity in the form of URLSession, once it has been read.
    private let knownCredential = Lock<URLCredential?>(nil)

    private func credential() -> URLCredential? {
        if let known = knownCredential.withLock({ $0 }) { return known }
        // Outside the lock: before macOS 15 the system uses the user's keychain for it.
        let read = demands.identity?.credential
        knownCredential.withLock { $0 = read }
        return read
    }
    #endif
    /// Decides about certificates. That may take long, and only its own connection waits.
    private let trustQueue = DispatchQueue(label: "ness.urlsession.trust", attributes: .concurrent)
    /// Decides about redirects, which on Linux wait for a running cancellation. The thread that calls this delegate must not wait for one.
    private let redirectQueue = DispatchQueue(label: "ness.urlsession.redirects")

    init(_ onServerTrust: TrustAnswer, demands: TLSDemands, onEnd: @escaping @Sendable () -> Void) {
        self.onServerTrust = onServerTrust
        self.demands = demands
        self.onEnd = onEnd
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { onEnd() }

    func add(_ exchange: URLSessionExchange, for task: URLSessionTask) {
        exchanges.withLock { $0[task.taskIdentifier] = exchange }
    }

    private func exchange(for task: URLSessionTask) -> URLSessionExchange? {
        exchanges.withLock { $0[task.taskIdentifier] }
    }

    /// Returns the exchange of a task that has received a head, unless the head comes from a server whose certificate was not checked. The
    /// exchange then ends.
    private func checkedExchange(for task: URLSessionTask) -> URLSessionExchange? {
        let exchange = exchange(for: task)
        guard let refusal = demands.refusal(hasChecked: hasChecked.withLock { $0 }) else { return exchange }
        exchange?.end(.failure(refusal))
        return nil
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        checkedExchange(for: dataTask)?.received(response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(for: dataTask)?.received(data)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        exchange(for: task)?.sent(totalBytesSent)
    }

    /// Responds immediately. When URLSession on Linux wants to read a body again, it blocks its thread until it has the stream.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, needNewBodyStream completionHandler: @escaping (InputStream?) -> Void
    ) {
        completionHandler(exchange(for: task)?.makeBodyStream())
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        guard let exchange = checkedExchange(for: task) else { return }
        exchange.redirected(response)
        redirectQueue.async { exchange.answerRedirect(completionHandler) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(FoundationNetworking)
        // On Linux a Basic challenge comes only after the whole response, and only a credential or a cancellation ends the task.
        exchange(for: task)?.challenged(challenge.failureResponse)
        URLSessionExchange.cancelQueue.async { completionHandler(.cancelAuthenticationChallenge, nil) }
        #else
        let space = challenge.protectionSpace, usesSystem = exchange(for: task)?.usesSystemCredentials ?? false
        switch AuthenticationMethod(space.authenticationMethod, isProxy: space.isProxy(), usesSystemCredentials: usesSystem) {
        case .http: completionHandler(.rejectProtectionSpace, nil)
        case .clientCertificate:
            #if canImport(Security)
            if demands.identity != nil {
                let exchange = exchange(for: task)
                return trustQueue.async { [self] in
                    if let credential = credential() { return completionHandler(.useCredential, credential) }
                    exchange?.rejected(.clientCertificate, "the client identity can't be read")
                    completionHandler(.cancelAuthenticationChallenge, nil)
                }
            }
            #endif
            completionHandler(.performDefaultHandling, nil)
        case .system: completionHandler(.performDefaultHandling, nil)
        case .serverTrust:
            if demands.isEmpty, onServerTrust == nil { return completionHandler(.performDefaultHandling, nil) }
            let exchange = exchange(for: task)
            trustQueue.async { [self] in
                var answer: (URLSession.AuthChallengeDisposition, URLCredential?) = (.performDefaultHandling, nil)
                #if canImport(Security)
                let trust = challenge.protectionSpace.serverTrust
                if let keys = demands.publicKeys, !PublicKeyHash.isKey(of: trust, in: keys) {
                    exchange?.rejected(.pinMismatch, "the server's public key is not pinned")
                    return completionHandler(.cancelAuthenticationChallenge, nil)
                }
                if let authorities = demands.authorities {
                    guard let trust, authorities.haveSigned(trust) else {
                        exchange?.rejected(.untrusted, "the server's certificate is not signed by any of the given authorities")
                        return completionHandler(.cancelAuthenticationChallenge, nil)
                    }
                    answer = (.useCredential, URLCredential(trust: trust))
                }
                #endif
                // The closure may reject what the rules accept.
                let decided = onServerTrust?(challenge) ?? answer
                let (disposition, credential) = decided.0 == .performDefaultHandling ? answer : decided
                if disposition == .cancelAuthenticationChallenge {
                    exchange?.rejected(.pinMismatch, "the serverTrust closure rejected the server's certificate")
                } else {
                    hasChecked.withLock { $0 = true }
                }
                completionHandler(disposition, credential)
            }
        }
        #endif
    }

    #if !canImport(FoundationNetworking)
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) { exchange(for: task)?.waitForNetwork() }

    // Called from macOS 14 and iOS 17 on.
    func urlSession(_ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse) {
        checkedExchange(for: task)?.receivedInterim(response)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        let transactions = metrics.transactionMetrics, last = transactions.last { $0.resourceFetchType == .networkLoad }
        let hasBegun = transactions.contains { $0.requestStartDate != nil }
        exchange(for: task)?.measured(last.map(ConnectionMetrics.init), hasBegun: hasBegun)
    }
    #endif

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let response = task.response
        let exchange = exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        exchange?.leavePlace()
        exchange?.completed(error, response)
        exchange?.releaseBody()
    }
}

#if canImport(FoundationNetworking)
/// Runs URLSession's delegate calls directly on the thread that reads, because another queue would have no limit.
///
/// On Linux one thread reads for all sessions of a process. It reads from one socket as long as that socket has bytes, and a task's
/// cancellation waits for this thread. Therefore the delegate only moves bytes to the exchange's mailbox, and skips bytes that no one
/// wants.
final class DelegateQueue: OperationQueue, @unchecked Sendable {
    // `@unchecked`: the class adds no state, and the superclass is thread-safe.
    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
}
#endif
