/// A loader made from a closure.
///
/// ```swift
/// let ness = Ness {
///     $0.loaders = [
///         .modifyRequest { request in request.headers["X-Device"] = device },
///         .modifyResponse { response in response.headers["X-Seen"] = "yes" },
///         .followUp { response in
///             guard response.statusCode == 401 else { return .accept }
///             try await login()
///             return .retry
///         },
///     ]
/// }
/// ```
///
/// Requests pass the loaders in order, and responses in reverse order. Closures run off the main thread, in the request's task. An error
/// that a closure throws ends the request, unless a retry follows.
public struct ClosureLoader: HTTPLoader {
    private let body: @Sendable (HTTPRequest, HTTPNext) async throws -> HTTPResponse

    /// Makes a loader.
    /// - Parameter body: Takes the request and returns the response: see `HTTPLoader.load(_:next:)`.
    package init(_ body: @escaping @Sendable (_ request: HTTPRequest, _ next: HTTPNext) async throws -> HTTPResponse) { self.body = body }

    /// Calls the closure.
    public func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse { try await body(request, next) }
}

/// The decision of a `.followUp` hook after a response.
public enum FollowUp: Sendable {
    /// Accepts the response.
    case accept
    /// Sends the same request again, through everything below the hook.
    case retry
    /// Sends another request through everything below the hook. Its response replaces this one. Its URL must be absolute, unless the hook
    /// is placed at `LoaderPlace.call`.
    case send(HTTPRequest)
}

extension HTTPLoader where Self == ClosureLoader {
    /// Makes a loader from a closure.
    /// - Parameter body: Takes the request and returns the response: see `HTTPLoader.load(_:next:)`.
    public static func loader(
        _ body: @escaping @Sendable (_ request: HTTPRequest, _ next: HTTPNext) async throws -> HTTPResponse
    ) -> ClosureLoader { ClosureLoader(body) }

    /// Changes each request before it is passed on.
    /// - Parameter change: Changes the request, or throws to end it with an error.
    public static func modifyRequest(_ change: @escaping @Sendable (inout HTTPRequest) async throws -> Void) -> ClosureLoader {
        ClosureLoader { request, next in
            var request = request
            try await change(&request)
            return try await next(request)
        }
    }

    /// Changes each response before it is returned.
    /// - Parameter change: Changes the response, or throws to replace it with an error.
    public static func modifyResponse(_ change: @escaping @Sendable (inout HTTPResponse) async throws -> Void) -> ClosureLoader {
        ClosureLoader { request, next in
            var response = try await next(request)
            try await change(&response)
            return response
        }
    }

    /// Inspects each response, and can send a request again or send another one. The closure may suspend, for example to log in with
    /// requests of another manager.
    ///
    /// Observers see one request, with one start and one end.
    /// - Parameters:
    ///   - limit: The largest number of follow-ups. The response after the last one is accepted without calling the closure.
    ///   - decide: Returns the decision, or throws to replace the response with an error.
    public static func followUp(
        atMost limit: Int = 1, _ decide: @escaping @Sendable (HTTPResponse) async throws -> FollowUp
    ) -> ClosureLoader {
        ClosureLoader { request, next in
            var request = request
            var response = try await next(request)
            for _ in 0..<max(0, limit) {
                switch try await decide(response) {
                case .accept: return response
                case .retry: break
                case .send(let other): request = other
                }
                response = try await next.replacing(by: request)
            }
            return response
        }
    }
}
