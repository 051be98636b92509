import NessHTTP
import NessTesting

/// An observer that logs every event, and runs a closure at one of them.
package final class EventRecorder: RequestObserver {
    package let log = Log<String>()
    private let reaction: @Sendable (String) -> Void

    package init(at reaction: @escaping @Sendable (String) -> Void = { _ in }) { self.reaction = reaction }

    package var events: [String] { log.entries }

    private func add(_ event: String) {
        log.add(event)
        reaction(event)
    }

    package func requestDidStart(_ request: HTTPRequest) { add("start") }
    package func requestWillSend(_ request: HTTPRequest) { add("send \(request.headers["X-Default"] ?? "")") }
    package func requestDidBeginExchange(_ exchange: RequestExchange, of request: HTTPRequest) { add("exchange") }
    package func requestDidReceiveHead(_ head: HTTPResponse, in exchange: RequestExchange, of request: HTTPRequest) { add("head") }
    package func requestDidReceive(_ response: HTTPResponse, to request: HTTPRequest) { add("received \(response.statusCode)") }
    package func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt) {
        add("retry \(delay / .seconds(1)) \((attempt.error as? NessError)?.kind.rawValue ?? "\(attempt.response?.statusCode ?? 0)")")
    }
    package func requestDidSucceed(_ request: HTTPRequest, with response: HTTPResponse) { add("success \(response.statusCode)") }
    package func requestDidFail(_ request: HTTPRequest, with error: any Error) {
        add("failure \((error as? NessError)?.kind.rawValue ?? "other")")
    }
    package func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) { add("metrics") }
    package func requestDidEnd(_ request: HTTPRequest) { add("end") }
}
