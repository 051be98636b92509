import Foundation

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
    /// - Throws: The request's error. `next` throws `NessError` for everything that goes wrong in the library, `NessError.dropped` for a
    ///   request that was dropped or cancelled, and what another loader of the caller's threw as it is. An error of the loader's own reaches
    ///   the caller unchanged; a `CancellationError` counts as a drop.
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
        case closure(@Sendable (HTTPRequest, CallContext) async throws -> HTTPResponse)
        /// The stages that are left.
        case step(Pipeline.Step?)
    }

    private let rest: Rest
    /// The context of the request that the loader was given. A request that the loader makes itself belongs to it, too.
    let context: CallContext

    /// Makes a rest of a pipeline from a closure: for testing a loader on its own.
    /// - Parameter body: Answers a request.
    public init(_ body: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse) {
        let request = HTTPRequest(url: URL(fileURLWithPath: "/"))
        self.init(in: CallContext(Call(request))) { request, _ in try await body(request) }
    }

    init(in context: CallContext, _ body: @escaping @Sendable (HTTPRequest, CallContext) async throws -> HTTPResponse) {
        rest = .closure(body)
        self.context = context
    }

    init(_ step: Pipeline.Step?, in context: CallContext) {
        rest = .step(step)
        self.context = context
    }

    /// Sends a request through the rest of the pipeline.
    /// - Parameter request: The request: the one that the loader was given, a changed copy, or one that it made. One that it made is a data
    ///   request on behalf of the same call: its response is in memory, and the caller's validators do not judge it.
    /// - Returns: The response.
    /// - Throws: `NessError`, or what a loader of the caller's below threw.
    public func callAsFunction(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await self(request, in: request.id == context.requestID ? context : context.own(request))
    }

    /// Sends a request through the rest of the pipeline, in a context that the stage has changed.
    // Inlined: a function of its own would have a frame of its own, at each stage and for as long as it waits.
    @inline(__always)
    func callAsFunction(_ request: HTTPRequest, in context: CallContext) async throws -> HTTPResponse {
        switch rest {
        case .closure(let body): return try await body(request, context)
        case .step(let step):
            let request = request.inheriting(from: context.call.request)
            let step = try Self.find(step, for: request, in: context)
            do {
                let response = try await step.loader.load(request, next: HTTPNext(step.next, in: context))
                return response.decoded(by: context.call.choices.jsonDecoder)
            } catch {
                throw context.call.explain(error)
            }
        }
    }

    // Not inlined, as most of what stages do besides waiting: the frame of an async function has room for all that the function ever
    // uses, for as long as it waits.
    @inline(never)
    private static func find(
        _ step: Pipeline.Step?, for request: HTTPRequest, in context: CallContext
    ) throws -> Pipeline.Step {
        var step = step
        while let present = step {
            if present.isNeeded(by: request, in: context) { return present }
            step = present.next
        }
        throw context.call.error(.invalidRequest, "the pipeline has no transport")
    }
}

extension HTTPRequest {
    /// The request with what the caller wished of every request of the call: one that a loader makes itself has the caller's options, and hides
    /// the caller's secrets.
    func inheriting(from request: HTTPRequest) -> HTTPRequest {
        if id == request.id { return self }
        var inheriting = self
        inheriting.options.inherit(request.options)
        // A name is secret to the caller whatever the loader says of it.
        var secrets = request.secrets
        secrets.apply(inheriting.secrets)
        secrets.hide(request.secrets)
        inheriting.secrets = secrets
        return inheriting
    }
}
