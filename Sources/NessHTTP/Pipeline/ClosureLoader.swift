/// A loader made of a closure, for what is not worth a type.
///
/// ```swift
/// let ness = Ness {
///     $0.loaders = [
///         .modifyRequest { request in request.headers["X-Device"] = device },
///         .modifyResponse { response in response.headers["X-Seen"] = "yes" },
///         .followUp { response in
///             guard response.statusCode == 401 else { return .accept }
///             try await login()
///             return .again
///         },
///     ]
/// }
/// ```
///
/// Requests pass the loaders in order, responses in reverse. Closures run off the main thread, in the request's task; what they throw
/// ends the request with that error, unless a retry control wants another attempt.
public struct ClosureLoader: HTTPLoader {
    private let body: @Sendable (HTTPRequest, HTTPNext) async throws -> HTTPResponse

    /// Makes a loader.
    /// - Parameter body: What the loader does: see `HTTPLoader.load(_:next:)`.
    package init(_ body: @escaping @Sendable (_ request: HTTPRequest, _ next: HTTPNext) async throws -> HTTPResponse) { self.body = body }

    /// Runs the closure.
    public func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse { try await body(request, next) }
}

/// What is to follow a response: the answer of a `.followUp` hook.
public enum FollowUp: Sendable {
    /// Nothing: the response stands.
    case accept
    /// The same request once more, through all the stages below.
    case again
    /// Another request, whose response takes the place of this one. It passes the stages below: its URL has to be absolute, unless the hook
    /// stands before `PipelineStage.environment`.
    case send(HTTPRequest)
}

extension HTTPLoader where Self == ClosureLoader {
    /// Does what a closure says.
    /// - Parameter body: What the loader does: see `HTTPLoader.load(_:next:)`.
    public static func loader(
        _ body: @escaping @Sendable (_ request: HTTPRequest, _ next: HTTPNext) async throws -> HTTPResponse
    ) -> ClosureLoader { ClosureLoader(body) }

    /// Changes each request on its way out.
    /// - Parameter change: Changes the request, or throws to stop it.
    public static func modifyRequest(_ change: @escaping @Sendable (inout HTTPRequest) async throws -> Void) -> ClosureLoader {
        ClosureLoader { request, next in
            var request = request
            try await change(&request)
            return try await next(request)
        }
    }

    /// Changes each response on its way back.
    /// - Parameter change: Changes the response, or throws to make an error of it.
    public static func modifyResponse(_ change: @escaping @Sendable (inout HTTPResponse) async throws -> Void) -> ClosureLoader {
        ClosureLoader { request, next in
            var response = try await next(request)
            try await change(&response)
            return response
        }
    }

    /// Looks at each response and decides what follows. It may take its time: log in, say, with requests of another manager.
    ///
    /// To the observers all of it is one request, with one start and one end.
    /// - Parameters:
    ///   - limit: How often something may follow; the response after that stands, and the closure is not asked.
    ///   - decide: Decides, or throws to make an error of the response.
    public static func followUp(
        atMost limit: Int = 1, _ decide: @escaping @Sendable (HTTPResponse) async throws -> FollowUp
    ) -> ClosureLoader {
        ClosureLoader { request, next in
            var request = request
            var response = try await next(request)
            for _ in 0..<max(0, limit) {
                switch try await decide(response) {
                case .accept: return response
                case .again: break
                case .send(let other): request = other
                }
                response = try await next(request, in: next.context.replacing(by: request))
            }
            return response
        }
    }
}
