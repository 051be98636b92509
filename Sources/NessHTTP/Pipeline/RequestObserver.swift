/// Watches the requests of a manager. It has one say, `verdict(on:to:)`, and otherwise none.
///
/// For each request, in this order:
///
/// 1. `requestDidStart`, once.
/// 2. For each attempt `requestWillSend`; for each exchange that the attempt waits for, of which redirects and a renewed credential make
///    several and a cache none, `requestDidBeginExchange` and `requestDidReceiveHead`; when there is a response `requestDidReceive` and then
///    `verdict`. Where another attempt follows, `requestWillRetry`.
/// 3. `requestDidSucceed` or `requestDidFail`, once. A drop is a failure, of which nothing is heard after. So is a response that can't be
///    decoded, where the request was to decode it.
/// 4. `requestDidCollect`, once.
/// 5. `requestDidEnd`, once, and nothing after.
///
/// Parts of a download that are fetched side by side mix their exchanges. A stream that its reader leaves early has succeeded, with its head.
///
/// A request that ends before it gets that far, since its builder describes none, or it is dropped at once, or its manager is being reset,
/// is not heard of at all.
///
/// Every method has an empty default and is called off the main thread. Of one request there is one call at a time; those of different
/// requests come from different threads at once. Observers are called in the order in which the manager has them. The request goes on when
/// they return, so they should soon; they may drop requests and send others.
public protocol RequestObserver: Sendable {
    /// A request begins.
    /// - Parameter request: The request, as the caller made it.
    func requestDidStart(_ request: HTTPRequest)
    /// An attempt begins.
    /// - Parameter request: The request with what the manager and its delegate added; not the credentials, which come later.
    func requestWillSend(_ request: HTTPRequest)
    /// An exchange begins: all queues are behind.
    /// - Parameter request: The request, as in `requestWillSend`.
    func requestDidBeginExchange(_ request: HTTPRequest)
    /// The header of the exchange's response has come.
    /// - Parameter request: The request, as in `requestWillSend`.
    func requestDidReceiveHead(_ request: HTTPRequest)
    /// An attempt has its response, whole.
    /// - Parameters:
    ///   - response: The response.
    ///   - request: The request, as the caller made it.
    func requestDidReceive(_ response: HTTPResponse, to request: HTTPRequest)
    /// Judges an attempt's response, before the caller's validators do. Where an observer refuses it the attempt has failed with
    /// `NessError.validation`, and neither the observers after it nor the validators are asked. Of a response that goes to a file, or is
    /// handed on as it comes, they are asked when its head is there.
    /// - Parameters:
    ///   - response: The response.
    ///   - request: The request, as the caller made it.
    /// - Returns: The verdict.
    func verdict(on response: HTTPResponse, to request: HTTPRequest) -> ResponseValidatorResult
    /// An attempt failed and another follows.
    /// - Parameters:
    ///   - request: The request, as the caller made it.
    ///   - delay: How long is waited before it.
    ///   - attempt: What failed.
    func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt)
    /// The request has its response, which nobody refused.
    /// - Parameters:
    ///   - request: The request, as the caller made it.
    ///   - response: The response.
    func requestDidSucceed(_ request: HTTPRequest, with response: HTTPResponse)
    /// The request failed.
    /// - Parameters:
    ///   - request: The request, as the caller made it.
    ///   - error: What the caller gets; for one who dropped it with an error of its own, `NessError.dropped`.
    func requestDidFail(_ request: HTTPRequest, with error: any Error)
    /// What the request took is known.
    /// - Parameters:
    ///   - metrics: What it took.
    ///   - request: The request, as the caller made it.
    func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest)
    /// The request has ended, one way or the other.
    /// - Parameter request: The request, as the caller made it.
    func requestDidEnd(_ request: HTTPRequest)
}

extension RequestObserver {
    /// Nothing.
    public func requestDidStart(_ request: HTTPRequest) {}
    /// Nothing.
    public func requestWillSend(_ request: HTTPRequest) {}
    /// Nothing.
    public func requestDidBeginExchange(_ request: HTTPRequest) {}
    /// Nothing.
    public func requestDidReceiveHead(_ request: HTTPRequest) {}
    /// Nothing.
    public func requestDidReceive(_ response: HTTPResponse, to request: HTTPRequest) {}
    /// Has nothing against it.
    public func verdict(on response: HTTPResponse, to request: HTTPRequest) -> ResponseValidatorResult { .valid }
    /// Nothing.
    public func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt) {}
    /// Nothing.
    public func requestDidSucceed(_ request: HTTPRequest, with response: HTTPResponse) {}
    /// Nothing.
    public func requestDidFail(_ request: HTTPRequest, with error: any Error) {}
    /// Nothing.
    public func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) {}
    /// Nothing.
    public func requestDidEnd(_ request: HTTPRequest) {}
}
