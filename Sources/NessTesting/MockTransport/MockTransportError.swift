import Foundation
import NessHTTP

/// An error in the use of a `MockTransport`. Like `UnmatchedRequest`, it reaches the caller unchanged, and no retry control is asked about
/// it.
public enum MockTransportError: Error, FinalError, Hashable, Sendable, CustomStringConvertible, LocalizedError {
    /// A route is invalid, for the given reason. Every request fails with this error until the route is removed.
    case invalidRoute(String)
    /// A mock cannot give a reply, for the given reason.
    case invalidReply(String)

    /// The reason.
    public var description: String {
        switch self {
        case .invalidRoute(let reason): "the mock has a route that is not valid: \(reason)"
        case .invalidReply(let reason): "the mock can't give this reply: \(reason)"
        }
    }
    /// The description.
    public var errorDescription: String? { description }
}
