import Foundation
import NessHTTP

/// The error of a request that no route of a `MockTransport` matches. Its description names the nearest routes, and why they do not match:
///
/// ```text
/// GET https://mock.test/v1/user/7: no route of the mock matches;
/// nearest: GET users/:id ("user" is not "users"); others: POST login
/// ```
/// It reaches the test unchanged, not as a `NessError`, so it cannot be mistaken for an error of a server or a network.
public struct UnmatchedRequest: Error, Sendable {
    /// The request.
    public let request: HTTPRequest
    /// The routes of the mock, each with method and pattern, the newest first.
    public let routes: [String]
    /// The routes that are nearest to the request, at most three, the nearest first: each with method, pattern, and the reasons why it
    /// does not match. Empty if no route's path has anything in common with the request's.
    public let nearest: [String]
    /// The routes that are not in `nearest`, in the order of `routes`.
    let others: [String]
}

extension UnmatchedRequest: RepetitionSource, RedactedValue, CustomDebugStringConvertible, LocalizedError {
    package var repetition: Repetition { .never("no route of the mock matches") }
    /// The request and the routes in one line, without secrets.
    package var redactedDescription: String {
        var parts = ["\(request): no route of the mock matches"]
        if routes.isEmpty { parts.append("it has no routes") }
        if !nearest.isEmpty { parts.append("nearest: \(nearest.joined(separator: ", "))") }
        if !others.isEmpty { parts.append("\(nearest.isEmpty ? "its routes are" : "others"): \(others.joined(separator: ", "))") }
        return parts.joined(separator: "; ")
    }
    /// The description.
    public var debugDescription: String { description }
    /// The description.
    public var errorDescription: String? { description }
}
