import Foundation

/// Code of the application between the caller of a request and the transport.
///
/// A pipeline is a chain of loaders. Each loader takes a request and returns a response. It reaches the rest of the chain by calling
/// `next`. A loader may:
///
/// - change the request before it calls `next`, or the response afterwards
/// - return a response without calling `next`
/// - call `next` several times, with the same request or with others
/// - wait, because the method is asynchronous
/// - end the request by throwing an error
///
/// ```swift
/// /// Marks every request, and measures the time that the next steps take.
/// struct Stamp: HTTPLoader {
///     let report: @Sendable (Duration) -> Void
///
///     func load(
///         _ request: HTTPRequest, next: HTTPNext
///     ) async throws -> HTTPResponse {
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
/// after the default headers were added and before the credential is. `Ness.Configuration.insert(_:at:)` puts a loader at any of the four
/// places that `LoaderPlace` names. At `.exchange`, a loader runs once for all callers who share an exchange.
///
/// **Threads.** One loader serves all requests of a manager at the same time, so it must be safe to call concurrently. `load` runs off the
/// main thread, in the request's task. It must not block that thread.
///
/// **Task-local values.** At `.call`, `.attempt` and `.authenticated`, `load` has those of the code that started the request, in each
/// attempt. At `.exchange`, it has those of the code that started the exchange, even if other callers have joined.
///
/// **Cancellation.** When the caller drops the request, Ness cancels the task. `next` then throws, and so does a sleep. A loader that
/// computes for long should check `Task.isCancelled`. The caller's promise does not wait for the loader.
///
/// **Testing.** A test of a loader needs no manager. An `HTTPNext` made from a closure stands in for the rest of the pipeline:
///
/// ```swift
/// let next = HTTPNext { request in
///     HTTPResponse(statusCode: 200, headers: request.headers, request: request)
/// }
/// let stamp = Stamp { _ in }
/// let response = try await stamp.load(HTTPRequest(url: url), next: next)
/// #expect(response.headers["X-Stamp"] == "1")
/// ```
///
/// `ClosureLoader` makes a loader from a closure: see `.modifyRequest`, `.modifyResponse` and `.followUp`.
public protocol HTTPLoader: Sendable {
    /// Returns the response to a request, usually by passing it to the rest of the pipeline.
    /// - Parameters:
    ///   - request: The request, with the changes that the steps above have made.
    ///   - next: The rest of the pipeline. May be called any number of times.
    /// - Returns: The response.
    /// - Throws: The error that ends this attempt. `next` throws a `NessError` for every failure that Ness detects, and
    ///   `NessError.Kind.dropped` for a request that was dropped or canceled. An error that another custom loader threw passes unchanged.
    ///   An error of this loader also reaches the caller unchanged, unless a retry follows. A `CancellationError` counts as a drop.
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
    private let rest: @Sendable (HTTPRequest, CallContext) async throws -> HTTPResponse
    private let context: CallContext

    /// Makes the rest from a closure, to test a loader without a manager.
    /// - Parameter body: Returns the response to a request, or throws. Runs in the loader's task.
    public init(_ body: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse) {
        let request = HTTPRequest(url: URL(fileURLWithPath: "/"))
        let call = Call(.success(request), CallOptions(), clock: PipelineClock(ContinuousClock()))
        self.init(in: CallContext(call)) { request, _ in try await body(request) }
    }

    init(in context: CallContext, _ rest: @escaping @Sendable (HTTPRequest, CallContext) async throws -> HTTPResponse) {
        self.rest = rest
        self.context = context
    }

    /// Sends a request through the rest of the pipeline.
    /// - Parameter request: The request that the loader was given, a changed copy of it, or a new one. A new request is a data request of
    ///   the same call: its response is kept in memory, and the caller's validators do not judge it.
    /// - Returns: The response.
    /// - Throws: `NessError`, or the error of a custom loader below this one.
    public func callAsFunction(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await run(request, in: context.passing(request))
    }

    /// Sends a request in place of the one that the loader was given. The caller's validators, sink and decoder apply to its response.
    func replacing(by request: HTTPRequest) async throws -> HTTPResponse {
        try await run(request, in: context.acceptingReplacement(request))
    }

    private func run(_ request: HTTPRequest, in context: CallContext) async throws -> HTTPResponse {
        do {
            return try await rest(request.inheriting(from: context.call.request), context)
        } catch {
            throw context.explain(error)
        }
    }
}

extension [any HTTPLoader] {
    /// Sends a request through the custom loaders at one place, and then through the rest of the pipeline.
    @inline(never)
    func load(
        _ request: HTTPRequest, in context: CallContext,
        _ rest: @escaping @Sendable (HTTPRequest, CallContext) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        guard let first else { return try await rest(request, context) }
        let others = Array(dropFirst())
        let next = HTTPNext(in: context) { request, context in try await others.load(request, in: context, rest) }
        return try await first.load(request, next: next).inheriting(from: context.call.request)
    }
}
