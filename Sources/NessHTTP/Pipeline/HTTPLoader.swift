/// One stage on the way of a request: the library's core abstraction.
///
/// A loader may change the request, change the response, answer by itself, ask again, wait, or stop with an error. It does so for
/// each request in a task of its own, so it may simply `await`; a drop cancels that task.
///
/// ```swift
/// struct Stamp: HTTPLoader {
///     func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
///         var request = request
///         request.headers["X-Stamp"] = "1"
///         return try await next(request)
///     }
/// }
/// ```
public protocol HTTPLoader: Sendable {
    /// Answers a request, usually with what the rest of the pipeline answers.
    /// - Parameters:
    ///   - request: The request, as the stages before have left it.
    ///   - next: The rest of the pipeline. May be called any number of times.
    /// - Returns: The response.
    /// - Throws: Whatever shall be the request's error.
    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse

    /// Forgets what the loader keeps from request to request. Called by `Ness.reset()` when nothing is in flight.
    func reset() async
}

extension HTTPLoader {
    /// Nothing is kept.
    public func reset() async {}
}

/// The rest of the pipeline, as a loader sees it.
public struct HTTPNext: Sendable {
    private enum Rest: Sendable {
        case closure(@Sendable (HTTPRequest) async throws -> HTTPResponse)
        /// The stages that are left, for whoever asks on behalf of a request.
        case steps(ArraySlice<Pipeline.Step>, after: HTTPRequest)
    }

    private let rest: Rest

    /// Makes a rest of a pipeline from a closure: for testing a loader on its own.
    /// - Parameter body: Answers a request.
    public init(_ body: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse) { rest = .closure(body) }

    init(_ steps: ArraySlice<Pipeline.Step>, after request: HTTPRequest) { rest = .steps(steps, after: request) }

    /// Sends a request through the rest of the pipeline.
    /// - Parameter request: The request.
    /// - Returns: The response.
    /// - Throws: What the rest of the pipeline throws.
    public func callAsFunction(_ request: HTTPRequest) async throws -> HTTPResponse {
        switch rest {
        case .closure(let body): return try await body(request)
        case .steps(let steps, let asking):
            let (loader, adopted, next) = try Self.first(of: steps, for: request, asking)
            return try await loader.load(adopted, next: next)
        }
    }

    // Not inlined, as most of what stages do besides waiting: the frame of an async function holds all that the function ever uses, for as long as it waits.
    @inline(never)
    private static func first(
        of steps: ArraySlice<Pipeline.Step>, for request: HTTPRequest, _ asking: HTTPRequest
    ) throws -> (any HTTPLoader, HTTPRequest, HTTPNext) {
        let request = request.adopted(by: asking)
        guard let index = steps.firstIndex(where: { $0.isNeeded(by: request) }) else {
            throw TransportError(.invalidRequest, "the pipeline has no transport")
        }
        return (steps[index].loader, request, HTTPNext(steps[(index + 1)...], after: request))
    }
}
