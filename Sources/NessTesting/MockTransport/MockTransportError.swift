import Foundation
import NessHTTP

/// A `MockTransport` was told something that it can't do. Like `UnmatchedRequest`, it reaches the caller as it is, and no retry control is
/// asked about it.
public enum MockTransportError: Error, FinalError, Hashable, Sendable, CustomStringConvertible, LocalizedError {
    /// A route can't be understood, and why. Every request fails with this until the route is removed.
    case invalidRoute(String)
    /// A reply can't be given by a mock, and why.
    case invalidReply(String)

    /// The reason.
    public var description: String {
        switch self {
        case .invalidRoute(let reason): "the mock has a route that is not valid: \(reason)"
        case .invalidReply(let reason): "the mock can't give this reply: \(reason)"
        }
    }
    /// As `description`.
    public var errorDescription: String? { description }
}
