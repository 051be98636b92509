import Foundation
import NessHTTP

/// The error of a request that no route of a `MockTransport` matches.
///
/// It reaches the test unchanged, not as a `NessError`, so it cannot be mistaken for an error of a server or a network.
public struct UnmatchedRequest: Error, Sendable {
    /// The request.
    public let request: HTTPRequest
    /// The routes of the mock, each with method and pattern, the newest first.
    public let routes: [String]
}

extension UnmatchedRequest: FinalError, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable, LocalizedError {
    /// The request and the routes in one line, without secrets.
    public var description: String {
        let known = routes.isEmpty ? "it has no routes" : "its routes are: \(routes.joined(separator: ", "))"
        return "\(request): no route of the mock matches; \(known)"
    }
    /// The description.
    public var debugDescription: String { description }
    /// Only the description, so that dumping an error shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["error": description]) }
    /// The description.
    public var errorDescription: String? { description }
}
