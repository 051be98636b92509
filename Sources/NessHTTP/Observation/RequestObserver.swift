/// Watches the requests of a manager: for logs, metrics, traces, or an activity indicator.
///
/// An observer cannot change a request or reject a response. Validators reject responses: see `Ness.Configuration.validators`. Every method
/// has an empty default, so an observer implements only those it needs.
///
/// ```swift
/// /// Prints one line for each request that took longer than a second.
/// struct SlowRequests: RequestObserver {
///     func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) {
///         guard metrics.total > .seconds(1) else { return }
///         print("\(request): \(metrics.total), \(metrics.attempts) attempts")
///     }
/// }
///
/// let ness = Ness { $0.observers = [SlowRequests()] }
/// ```
///
/// **The order of calls.** For each request:
///
/// 1. `requestDidStart`, once. Then `requestDidWarn`, if the request looks like a mistake.
///    The warning about a used-up retry budget follows the last failed attempt.
/// 2. For each attempt: `requestWillSend`. For each exchange on the wire in that attempt: `requestDidBeginExchange`, then
///    `requestDidReceiveInterim` for each interim response, then `requestDidReceiveHead`, then `requestDidEndExchange`. If the attempt has
///    a response: `requestDidReceive`. If another attempt follows: `requestWillRetry`.
///
///    For each wait, in a queue or for a credential: `requestWillWait` and `requestDidWait`.
///
///    A paused transfer has `requestDidPause` and `requestDidResume` between these; the attempt then continues.
/// 3. `requestDidSucceed` or `requestDidFail`, once.
/// 4. `requestDidCollect`, once.
/// 5. `requestDidEnd`, once. No call follows.
///
/// An attempt has several exchanges if it follows redirects or renews a credential, and none if the response is from the cache. The
/// exchanges of a download in segments overlap. A caller who joins an exchange is notified of its start when it joins. Each exchange that has
/// started ends before the request does, and so does each wait: after a drop, with the error of the request.
///
/// A drop is a failure, and so is a response that the request cannot decode. A stream whose reader stops early has succeeded. A request
/// that never enters the pipeline causes no call at all: its builder is invalid, it was dropped immediately, or its manager is being reset.
///
/// **Threads.** Ness calls every method off the main thread. Calls about one request never overlap. Calls about different requests do, from
/// different threads. Observers are called in the order of `Ness.observers`. A request may wait until the observers return, so they must
/// not block. They may send and drop requests.
///
/// **Task-local values.** `requestDidStart` has the task-local values of the code that started the request. An observer that needs them
/// later, such as the span of a trace, keeps them there under `HTTPRequest.id`. The other methods run in any task or thread that causes
/// the event.
///
/// **Testing.** Give a manager the observer and a `MockTransport` of the module `NessTesting`, and send a request.
public protocol RequestObserver: Sendable {
    /// A request has started.
    /// - Parameter request: The request as the caller made it.
    func requestDidStart(_ request: HTTPRequest)
    /// Ness warns about a request. The warning itself does not end the request. `RequestLogger` logs it.
    ///
    /// There are two warnings:
    ///
    /// - The caller gave a path with a leading slash, which leaves the path of the manager's base URL (RFC 3986, section 5.2), and with it
    ///   the credential. `/users` under `https://host/v1` is `https://host/users`. Only the first such request of a manager causes the call.
    /// - The manager's retry budget is used up, so the failed attempt of the request is the last one.
    /// - Parameters:
    ///   - warning: The warning, as one line without secrets.
    ///   - request: The request, with its absolute URL.
    func requestDidWarn(_ warning: String, about request: HTTPRequest)
    /// An attempt starts.
    /// - Parameter request: The request with the additions of the manager and its delegate. Credentials are added later and never shown
    ///   here.
    func requestWillSend(_ request: HTTPRequest)
    /// The request waits for its turn, or for a credential. Callers who share an exchange wait for its turn together.
    /// - Parameters:
    ///   - request: The request, as in `requestWillSend`.
    ///   - place: The place.
    func requestWillWait(_ request: HTTPRequest, at place: WaitingPlace)
    /// The wait is over.
    /// - Parameters:
    ///   - request: The request, as in `requestWillSend`.
    ///   - place: The place.
    ///   - duration: The length of the wait, by the manager's clock.
    func requestDidWait(_ request: HTTPRequest, at place: WaitingPlace, for duration: Duration)
    /// The request starts the refresh of a `RefreshableAuthentication`, and waits for it. Other requests may wait for the same refresh.
    /// - Parameter request: The request as the caller made it.
    func requestWillRefresh(_ request: HTTPRequest)
    /// An exchange on the wire starts. The request has left all queues. A caller who joins an exchange gets this call when it joins.
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - request: The request, as in `requestWillSend`.
    func requestDidBeginExchange(_ exchange: RequestExchange, of request: HTTPRequest)
    /// The exchange waits for a network.
    ///
    /// `URLSessionTransport` reports it on Apple platforms, if its `configure` closure sets `waitsForConnectivity`. The idle timeout does
    /// not run during the wait, and the request needs no place in the host's limit. The deadline does run.
    /// - Parameter request: The request, as in `requestWillSend`.
    func requestIsWaitingForNetwork(_ request: HTTPRequest)
    /// An interim (1xx) response of the exchange has arrived, such as 103 (Early Hints, RFC 8297).
    ///
    /// `CurlTransport` reports interim responses, including a 100, and `URLSessionTransport` does so from iOS 17 and macOS 14 on. An
    /// exchange has at most 1,000 of them. Each counts as activity for the idle timeout, so a server can hold a request longer than its
    /// timeout with them, but not longer than its deadline. A caller who joins a shared exchange gets only those that arrive afterwards.
    /// - Parameters:
    ///   - response: The status and the header fields. The body is empty.
    ///   - request: The request, as in `requestWillSend`.
    func requestDidReceiveInterim(_ response: HTTPResponse, to request: HTTPRequest)
    /// The head of the exchange's response has arrived.
    /// - Parameters:
    ///   - head: The status and the header fields. The body is empty.
    ///   - exchange: The exchange.
    ///   - request: The request, as in `requestWillSend`.
    func requestDidReceiveHead(_ head: HTTPResponse, in exchange: RequestExchange, of request: HTTPRequest)
    /// An exchange has ended.
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - outcome: The response; its body is empty for a download or a stream. Or the error: that of the exchange, or that of the request
    ///     if the request ends first. `CancellationError` if the request succeeds without this exchange.
    ///   - request: The request, as in `requestWillSend`.
    func requestDidEndExchange(_ exchange: RequestExchange, with outcome: Result<HTTPResponse, any Error>, of request: HTTPRequest)
    /// An attempt has its complete response.
    /// - Parameters:
    ///   - response: The response.
    ///   - request: The request as the caller made it.
    func requestDidReceive(_ response: HTTPResponse, to request: HTTPRequest)
    /// An attempt failed, and another follows.
    /// - Parameters:
    ///   - request: The request as the caller made it.
    ///   - delay: The wait before the next attempt.
    ///   - attempt: The attempt that failed.
    func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt)
    /// The upload or download was paused. Its connection is closed, and the request continues with `requestDidResume(_:)`.
    /// - Parameter request: The request as the caller made it.
    func requestDidPause(_ request: HTTPRequest)
    /// The paused transfer continues.
    /// - Parameter request: The request as the caller made it.
    func requestDidResume(_ request: HTTPRequest)
    /// The request has succeeded: no validator rejected the response.
    /// - Parameters:
    ///   - request: The request as the caller made it.
    ///   - response: The response.
    func requestDidSucceed(_ request: HTTPRequest, with response: HTTPResponse)
    /// The request has failed.
    /// - Parameters:
    ///   - request: The request as the caller made it.
    ///   - error: The error that the caller gets. After `drop(becauseOf:)` it is `NessError.Kind.dropped`, regardless of the error that the
    ///     caller gave.
    func requestDidFail(_ request: HTTPRequest, with error: any Error)
    /// The measurements of the request are complete.
    /// - Parameters:
    ///   - metrics: The measurements: times, attempts, bytes.
    ///   - request: The request as the caller made it.
    func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest)
    /// The request has ended, with or without success. A stream whose body has arrived ends when its reader does: see `StreamPromise`.
    /// - Parameter request: The request as the caller made it.
    func requestDidEnd(_ request: HTTPRequest)
    /// A circuit breaker of the manager has opened, sends a probe, or has closed.
    ///
    /// The call belongs to no request, so the observers of a single request do not get it. Changes are reported one after the other, in their
    /// order, perhaps after the end of the request that caused them.
    /// - Parameter change: The change.
    func circuitBreakerDidChange(_ change: CircuitBreakerChange)
}

extension RequestObserver {
    /// Does nothing.
    public func requestDidStart(_ request: HTTPRequest) {}
    /// Does nothing.
    public func requestDidWarn(_ warning: String, about request: HTTPRequest) {}
    /// Does nothing.
    public func requestWillSend(_ request: HTTPRequest) {}
    /// Does nothing.
    public func requestWillWait(_ request: HTTPRequest, at place: WaitingPlace) {}
    /// Does nothing.
    public func requestDidWait(_ request: HTTPRequest, at place: WaitingPlace, for duration: Duration) {}
    /// Does nothing.
    public func requestWillRefresh(_ request: HTTPRequest) {}
    /// Does nothing.
    public func requestDidBeginExchange(_ exchange: RequestExchange, of request: HTTPRequest) {}
    /// Does nothing.
    public func requestIsWaitingForNetwork(_ request: HTTPRequest) {}
    /// Does nothing.
    public func requestDidReceiveInterim(_ response: HTTPResponse, to request: HTTPRequest) {}
    /// Does nothing.
    public func requestDidReceiveHead(_ head: HTTPResponse, in exchange: RequestExchange, of request: HTTPRequest) {}
    /// Does nothing.
    public func requestDidEndExchange(_ exchange: RequestExchange, with outcome: Result<HTTPResponse, any Error>, of request: HTTPRequest) {
    }
    /// Does nothing.
    public func requestDidReceive(_ response: HTTPResponse, to request: HTTPRequest) {}
    /// Does nothing.
    public func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt) {}
    /// Does nothing.
    public func requestDidPause(_ request: HTTPRequest) {}
    /// Does nothing.
    public func requestDidResume(_ request: HTTPRequest) {}
    /// Does nothing.
    public func requestDidSucceed(_ request: HTTPRequest, with response: HTTPResponse) {}
    /// Does nothing.
    public func requestDidFail(_ request: HTTPRequest, with error: any Error) {}
    /// Does nothing.
    public func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) {}
    /// Does nothing.
    public func requestDidEnd(_ request: HTTPRequest) {}
    /// Does nothing.
    public func circuitBreakerDidChange(_ change: CircuitBreakerChange) {}
}
