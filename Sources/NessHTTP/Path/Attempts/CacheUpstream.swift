/// The steps below the cache: the flight that equal requests share, or, behind a redirect, the rest of the flight that followed it.
struct CacheUpstream: Upstream {
    let flights: FlightStep
    let context: CallContext
    /// The flight that a redirect led to the request; `nil` for a request that no redirect made.
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

    /// The deadline is the call's, not that of a request that a loader made, or of a flight that others may have joined.
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
