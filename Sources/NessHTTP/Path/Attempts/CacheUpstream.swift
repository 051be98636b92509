/// The steps below the cache. For a caller's request, they are the flight that equal requests share. For the target of a redirect, they are
/// the rest of the flight that followed the redirect.
struct CacheUpstream: Upstream {
    let flights: FlightStep
    let context: CallContext
    /// The flight that followed a redirect to this request; `nil` if no redirect led here.
    var redirected: RedirectedFlight?

    var attempt: Int { context.attempt }
    var cookies: JarCookies? { context.cookies }
    var isCacheable: Bool { context.options.kind == .data && context.options.sink == nil && context.mayShare }
    var hasDuplicateIdentifier: Bool { context.options.duplicateIdentifier != nil }

    func route(of request: HTTPRequest) -> String { flights.exchanges.wire.route(of: request) }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        if let redirected { return try await flights.send(request, redirected.flight, nil, bytesBefore: redirected.byteCount) }
        return try await flights.share(request, context)
    }

    /// Stops at the call's deadline. That deadline does not apply to a request that a loader made, nor to a flight that other callers may
    /// have joined.
    func sendUntilDeadline(_ operation: @escaping @Sendable () async throws -> HTTPResponse) async throws -> HTTPResponse {
        if context.isLoaderMade || redirected != nil { return try await operation() }
        return try await context.call.untilDeadline(operation)
    }

    /// The request gets its own call: the caller's call has already completed and must see no more events.
    func inBackground(
        _ request: HTTPRequest, _ operation: @escaping @Sendable (any Upstream, _ begin: () throws -> Void) async throws -> HTTPResponse
    ) {
        let context = context.inSeparateCall(request, clock: flights.clock)
        context.call.start(for: nil, in: flights.running) { [flights] call in
            try await operation(CacheUpstream(flights: flights, context: context)) { try call.begin(in: flights.running) }
        }
    }

    func error(_ kind: NessError.Kind, _ reason: String) -> NessError { context.error(kind, reason) }
}
