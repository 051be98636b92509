import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Passes the calls of a URLSession to an `ExchangeSession`. It makes no decisions, because tests on Linux cannot run its code for Apple
/// platforms.
final class SessionDelegate: NSObject, URLSessionDataDelegate {
    private let events: ExchangeSession

    /// Makes a delegate.
    /// - Parameter events: The receiver. URLSession holds its delegate until it has ended.
    init(_ events: ExchangeSession) { self.events = events }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { events.ended() }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        events.received(response, by: dataTask)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        events.exchange(for: dataTask)?.received(data)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        events.exchange(for: task)?.sent(totalBytesSent)
    }

    /// Responds immediately. When URLSession on Linux wants to read a body again, it blocks its thread until it has the stream.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, needNewBodyStream completionHandler: @escaping (InputStream?) -> Void
    ) {
        completionHandler(events.exchange(for: task)?.makeBodyStream())
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        events.redirected(response, by: task) { completionHandler(nil) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        events.challenged(SessionChallenge(challenge, events.source.onServerTrust), by: task) { answer in
            completionHandler(answer.disposition, answer.credential)
        }
    }

    #if !canImport(FoundationNetworking)
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        events.exchange(for: task)?.waitForNetwork()
    }

    // Called from macOS 14 and iOS 17 on.
    func urlSession(_ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse) {
        events.receivedInterim(response, by: task)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        let transactions = metrics.transactionMetrics, last = transactions.last { $0.resourceFetchType == .networkLoad }
        let hasBegun = transactions.contains { $0.requestStartDate != nil }
        events.exchange(for: task)?.measured(last.map(ConnectionMetrics.init), hasBegun: hasBegun)
    }
    #endif

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        events.completed(error, by: task)
    }
}

#if canImport(FoundationNetworking)
/// Runs URLSession's delegate calls directly on the thread that reads, because the calls would pile up on another queue without a limit.
///
/// On Linux one thread reads for all sessions of a process. It reads from one socket as long as that socket has bytes, and a task's
/// cancellation waits for this thread. Therefore the delegate only moves bytes to the exchange's mailbox, and skips bytes that no one
/// wants.
final class DelegateQueue: OperationQueue, @unchecked Sendable {
    // `@unchecked`: the class adds no state, and the superclass is thread-safe.
    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
}
#endif
