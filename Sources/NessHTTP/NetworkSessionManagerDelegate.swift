import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Observes and changes the requests of a manager. Every method has a default implementation.
///
/// All methods are called off the main thread, once for every attempt.
///
/// ```swift
/// final class Stamp: NetworkSessionManagerDelegate {
///     func ness(
///         _ manager: Ness, willRequest request: HTTPRequest
///     ) -> HTTPRequest {
///         var request = request
///         request.headers["X-Stamp"] = "1"
///         return request
///     }
/// }
/// ```
public protocol NetworkSessionManagerDelegate: AnyObject, Sendable {
    /// The type of the requests: `HTTPRequest`, always.
    ///
    /// A delegate written for iONess takes a `URLRequest`. If the type were fixed here, such a delegate would compile but never be called.
    /// With this associated type, the compiler infers the type from the methods and reports the replacement.
    associatedtype RequestOfDelegate: DelegateRequest = HTTPRequest

    /// Returns the request to send.
    /// - Parameters:
    ///   - manager: The manager.
    ///   - request: The request as it would be sent, with the default headers. Each attempt starts with the caller's request.
    /// - Returns: The request to send instead, or the same request.
    func ness(_ manager: Ness, willRequest request: RequestOfDelegate) -> RequestOfDelegate
    /// Called when a request is about to be sent.
    /// - Parameters:
    ///   - manager: The manager.
    ///   - request: The request.
    func ness(_ manager: Ness, didRequest request: RequestOfDelegate)
}

extension NetworkSessionManagerDelegate {
    /// Returns the request unchanged.
    public func ness(_ manager: Ness, willRequest request: RequestOfDelegate) -> RequestOfDelegate { request }
    /// Does nothing.
    public func ness(_ manager: Ness, didRequest request: RequestOfDelegate) {}
}

/// The type of the requests of a `NetworkSessionManagerDelegate`. `HTTPRequest` is the only such type.
public protocol DelegateRequest: Sendable {}

extension HTTPRequest: DelegateRequest {}

@available(*, unavailable, message: "the delegate's methods take and return an HTTPRequest: write HTTPRequest in place of URLRequest")
extension URLRequest: DelegateRequest {}

extension NetworkSessionManagerDelegate {
    /// The delegate's methods, for the step that adds the manager's settings.
    func hooks(for manager: Ness) -> RequestPreparation.Hooks {
        RequestPreparation.Hooks(
            willRequest: { request in
                guard let asked = request as? RequestOfDelegate else { return request }
                return self.ness(manager, willRequest: asked) as? HTTPRequest ?? request
            },
            didRequest: { request in
                if let typedRequest = request as? RequestOfDelegate { self.ness(manager, didRequest: typedRequest) }
            })
    }
}
