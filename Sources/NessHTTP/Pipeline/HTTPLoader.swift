import Foundation

/// One stage of the pipeline: code that stands between the caller of a request and the transport.
///
/// A pipeline is a chain of loaders. Each loader takes a request and returns a response. It reaches the rest of the chain by calling
/// `next`. A loader may:
///
/// - change the request before it calls `next`, or the response afterwards
/// - answer without calling `next`
/// - call `next` several times, with the same request or with others
/// - wait, because the method is asynchronous
/// - end the request by throwing an error
///
/// ```swift
/// /// Marks every request, and measures how long the stages below take.
/// struct Stamp: HTTPLoader {
///     let report: @Sendable (Duration) -> Void
///
///     func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
///         var request = request
///         request.headers["X-Stamp"] = "1"
///         let start = ContinuousClock.now
///         let response = try await next(request)
///         report(ContinuousClock.now - start)
///         return response
///     }
/// }
///
/// let ness = Ness { $0.loaders = [Stamp { print($0) }] }
/// ```
///
/// **How often a loader runs** depends on its place. The loaders in `Ness.Configuration.loaders` run once for each attempt of a request,
/// after the default headers were added and before the credential is. `Ness.Configuration.insert(_:_:)` puts a loader at any other place,
/// named by a `PipelineStage`. Below `.coalesce`, a loader runs once for all callers who share an exchange.
///
/// **Threads.** One loader serves all requests of a manager at the same time, so it must be safe to call concurrently. `load` runs off the
/// main thread, in the request's task. It must not block that thread.
///
/// **Cancellation.** When the caller drops the request, the library cancels the task. `next` then throws, and so does a sleep. A loader
/// with long work of its own should check `Task.isCancelled`. The caller's promise does not wait for it.
///
/// **Testing.** A loader needs no manager in a test. An `HTTPNext` made from a closure stands for the rest of the pipeline:
///
/// ```swift
/// let next = HTTPNext { HTTPResponse(statusCode: 200, headers: $0.headers, request: $0) }
/// let response = try await Stamp { _ in }.load(HTTPRequest(url: url), next: next)
/// #expect(response.headers["X-Stamp"] == "1")
/// ```
///
/// `ClosureLoader` makes a loader from a closure: see `.modifyRequest`, `.modifyResponse` and `.followUp`.
public protocol HTTPLoader: Sendable {
    /// Answers a request, usually by passing it to the rest of the pipeline.
    /// - Parameters:
    ///   - request: The request, with the changes of the stages above.
    ///   - next: The rest of the pipeline. May be called any number of times.
    /// - Returns: The response.
    /// - Throws: The error that ends this attempt. `next` throws a `NessError` for every failure of the library, and `NessError.dropped`
    ///   for a request that was dropped or cancelled. An error that another loader of the application threw passes unchanged. An error of
    ///   this loader also reaches the caller unchanged, unless a retry control makes another attempt. A `CancellationError` counts as a
    ///   drop.
    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse

    /// Discards the state that the loader keeps between requests. `Ness.reset()` calls it once no request is in flight.
    func reset() async
}

extension HTTPLoader {
    /// Does nothing: suits a loader that keeps no state between requests.
    public func reset() async {}
}

/// The rest of the pipeline below a loader.
public struct HTTPNext: Sendable {
    private enum Rest: Sendable {
        case closure(@Sendable (HTTPRequest, CallContext) async throws -> HTTPResponse)
        /// The remaining stages; `nil` below the last one.
        case step(Pipeline.Step?)
    }

    private let rest: Rest
    /// The context of the call. A request that the loader makes itself belongs to the same call.
    let context: CallContext

    /// Makes the rest of a pipeline from a closure, to test a loader on its own.
    /// - Parameter body: Returns the response to a request, or throws. Runs in the loader's task.
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
    /// - Parameter request: The request that the loader was given, a changed copy of it, or a new one. A new request is a data request of
    ///   the same call: its response is kept in memory, and the caller's validators do not judge it.
    /// - Returns: The response.
    /// - Throws: `NessError`, or the error of a loader of the application below this one.
    public func callAsFunction(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await self(request, in: request.id == context.requestID ? context : context.own(request))
    }

    /// Sends a request through the rest of the pipeline, in a context that the stage has changed.
    // Inlined: a separate function would allocate an async frame at each stage, and hold it for the whole wait.
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

    // Not inlined, to keep the frame of the async caller small. An async frame has room for every variable of its function, and lives as
    // long as the function waits. Other stages keep their synchronous work in functions of their own for the same reason.
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
    /// Adds the options and the secret names of the caller's request to a request that a loader made itself.
    func inheriting(from request: HTTPRequest) -> HTTPRequest { id == request.id ? self : adding(optionsOf: request) }

    @inline(never)
    private func adding(optionsOf request: HTTPRequest) -> HTTPRequest {
        var inheriting = self
        inheriting.options.inherit(request.options)
        // A name that is secret in the caller's request stays secret, even if the loader's request declares it public.
        var secrets = request.secrets
        secrets.apply(inheriting.secrets)
        secrets.hide(request.secrets)
        inheriting.secrets = secrets
        return inheriting
    }
}
