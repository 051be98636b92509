import Foundation
import NessHTTP

/// No route of a `MockTransport` answers a request.
///
/// A test sees it as it is, not as a `NessError`: no server and no network can bring it about.
public struct UnmatchedRequest: Error, Sendable {
    /// The request.
    public let request: HTTPRequest
    /// The routes that there were, each with method and pattern, the one that is asked first at the front.
    public let routes: [String]
}

extension UnmatchedRequest: FinalError, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable, LocalizedError {
    /// What was asked and what there is, in one line without secrets.
    public var description: String {
        let known = routes.isEmpty ? "it has no routes" : "its routes are: \(routes.joined(separator: ", "))"
        return "\(request): no route of the mock matches; \(known)"
    }
    /// As `description`.
    public var debugDescription: String { description }
    /// Only the description, so that dumping an error shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["error": description]) }
    /// As `description`.
    public var errorDescription: String? { description }
}
