import NessHTTP

/// The trace that a request belongs to (W3C Trace Context). A server puts the trace of the request that it answers here.
struct Trace: RequestOptionKey, Sendable {
    static let defaultValue: Trace? = nil
    let id: String

    /// Makes a trace with a random identifier. One of zeros would be invalid.
    init() { id = Self.randomDigits() + Self.randomDigits() }

    /// Returns 16 hexadecimal digits.
    static func randomDigits() -> String {
        let digits = String(UInt64.random(in: 1...UInt64.max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// Sends a `traceparent` header with each exchange, so a server's spans become children of the caller's.
///
/// Its place is `.after(.redirect)`: below the duplicates, because two callers with traces of their own can still share an exchange, and
/// below redirects and retries, because each exchange is a span.
struct TraceContext: HTTPLoader {
    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        var request = request
        let trace = request[Trace.self] ?? Trace()
        request.headers["traceparent"] = "00-\(trace.id)-\(Trace.randomDigits())-01"
        return try await next(request)
    }
}
