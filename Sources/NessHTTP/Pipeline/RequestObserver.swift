/// Watches the requests of a manager, without a say in them.
///
/// For each request: `requestDidStart`, then for each attempt `requestWillSend`, between attempts `requestWillRetry`, then
/// `requestDidSucceed` or `requestDidFail`, and `requestDidEnd` last. A drop is a failure. Every method has an empty default, and is called
/// off the main thread, in the request's task: it should return soon.
public protocol RequestObserver: Sendable {
    /// A request begins, as the caller made it.
    func requestDidStart(_ request: HTTPRequest)
    /// An attempt is about to be sent, with what the manager and its delegate added.
    func requestWillSend(_ request: HTTPRequest)
    /// An attempt failed and another follows.
    /// - Parameters:
    ///   - request: The request, as the caller made it.
    ///   - delay: How long is waited before it.
    func requestWillRetry(_ request: HTTPRequest, after delay: Duration)
    /// The request has its response, which no validator refused.
    func requestDidSucceed(_ request: HTTPRequest, with response: HTTPResponse)
    /// The request failed.
    func requestDidFail(_ request: HTTPRequest, with error: any Error)
    /// The request has ended, one way or the other.
    func requestDidEnd(_ request: HTTPRequest)
}

extension RequestObserver {
    /// Nothing.
    public func requestDidStart(_ request: HTTPRequest) {}
    /// Nothing.
    public func requestWillSend(_ request: HTTPRequest) {}
    /// Nothing.
    public func requestWillRetry(_ request: HTTPRequest, after delay: Duration) {}
    /// Nothing.
    public func requestDidSucceed(_ request: HTTPRequest, with response: HTTPResponse) {}
    /// Nothing.
    public func requestDidFail(_ request: HTTPRequest, with error: any Error) {}
    /// Nothing.
    public func requestDidEnd(_ request: HTTPRequest) {}
}
