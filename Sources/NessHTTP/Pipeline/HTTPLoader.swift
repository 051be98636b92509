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
        case step(Pipeline.Step?, after: HTTPRequest)
    }

    private let rest: Rest

    /// Makes a rest of a pipeline from a closure: for testing a loader on its own.
    /// - Parameter body: Answers a request.
    public init(_ body: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse) { rest = .closure(body) }

    init(_ step: Pipeline.Step?, after request: HTTPRequest) { rest = .step(step, after: request) }

    /// Sends a request through the rest of the pipeline.
    /// - Parameter request: The request.
    /// - Returns: The response.
    /// - Throws: What the rest of the pipeline throws.
    public func callAsFunction(_ request: HTTPRequest) async throws -> HTTPResponse {
        switch rest {
        case .closure(let body): return try await body(request)
        case .step(let step, let asking):
            let (step, adopted) = try Self.find(step, for: request, asking)
            return try await step.loader.load(adopted, next: HTTPNext(step.next, after: adopted))
        }
    }

    // Not inlined, as most of what stages do besides waiting: the frame of an async function has room for all that the function ever
    // uses, for as long as it waits.
    @inline(never)
    private static func find(
        _ step: Pipeline.Step?, for request: HTTPRequest, _ asking: HTTPRequest
    ) throws -> (Pipeline.Step, HTTPRequest) {
        let request = request.adopted(by: asking)
        var step = step
        while let present = step {
            if present.isNeeded(by: request) { return (present, request) }
            step = present.next
        }
        throw TransportError(.invalidRequest, "the pipeline has no transport")
    }
}
