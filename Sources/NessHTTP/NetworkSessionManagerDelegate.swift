import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Sees the requests of a manager. Every method has a default.
///
/// All are called off the main thread, once for every attempt.
///
/// ```swift
/// final class Stamp: NetworkSessionManagerDelegate {
///     func ness(_ manager: Ness, willRequest request: HTTPRequest) -> HTTPRequest {
///         var request = request
///         request.headers["X-Stamp"] = "1"
///         return request
///     }
/// }
/// ```
public protocol NetworkSessionManagerDelegate: AnyObject, Sendable {
    /// The type of the requests: `HTTPRequest`, always.
    ///
    /// A delegate written for iONess takes a `URLRequest`. Were the type fixed here, such a delegate would compile and never be called; so the
    /// compiler infers it from the methods and says what to write instead.
    associatedtype RequestOfDelegate: DelegateRequest = HTTPRequest

    /// Asks for the request to send.
    /// - Parameters:
    ///   - manager: The manager.
    ///   - request: The request as it would be sent, with the default headers. Each attempt begins with the request as it was made.
    /// - Returns: The request to send instead, or the same.
    func ness(_ manager: Ness, willRequest request: RequestOfDelegate) -> RequestOfDelegate
    /// Tells that a request is on its way.
    /// - Parameters:
    ///   - manager: The manager.
    ///   - request: The request.
    func ness(_ manager: Ness, didRequest request: RequestOfDelegate)
}

extension NetworkSessionManagerDelegate {
    /// Returns the request as it is.
    public func ness(_ manager: Ness, willRequest request: RequestOfDelegate) -> RequestOfDelegate { request }
    /// Does nothing.
    public func ness(_ manager: Ness, didRequest request: RequestOfDelegate) {}
}

/// A request that a `NetworkSessionManagerDelegate` is given. `HTTPRequest` is the only one.
public protocol DelegateRequest: Sendable {}

extension HTTPRequest: DelegateRequest {}

@available(*, unavailable, message: "the delegate's methods take and return an HTTPRequest: write HTTPRequest in place of URLRequest")
extension URLRequest: DelegateRequest {}

extension NetworkSessionManagerDelegate {
    /// The delegate's part in the requests of a manager.
    func hooks(for manager: Ness) -> Environment.Hooks {
        Environment.Hooks(
            willRequest: { request in
                guard let asked = request as? RequestOfDelegate else { return request }
                return self.ness(manager, willRequest: asked) as? HTTPRequest ?? request
            },
            didRequest: { request in
                if let told = request as? RequestOfDelegate { self.ness(manager, didRequest: told) }
            })
    }
}
