/// Sees the requests of a manager. Every method has a default.
///
/// All are called off the main thread, once for every attempt.
public protocol NetworkSessionManagerDelegate: AnyObject, Sendable {
    /// Asks for the request to send.
    /// - Parameters:
    ///   - manager: The manager.
    ///   - request: The request as it would be sent, with the default headers. Each attempt begins with the request as it was made.
    /// - Returns: The request to send instead, or the same.
    func ness(_ manager: Ness, willRequest request: HTTPRequest) -> HTTPRequest
    /// Tells that a request is on its way.
    /// - Parameters:
    ///   - manager: The manager.
    ///   - request: The request.
    func ness(_ manager: Ness, didRequest request: HTTPRequest)
}

extension NetworkSessionManagerDelegate {
    /// The request as it is.
    public func ness(_ manager: Ness, willRequest request: HTTPRequest) -> HTTPRequest { request }
    /// Nothing.
    public func ness(_ manager: Ness, didRequest request: HTTPRequest) {}
}
