import Foundation
import NessHTTP

/// The trace that a request belongs to (W3C Trace Context). A server stores the trace of the request that it is handling here.
struct Trace: RequestOptionKey, Sendable {
    static let defaultValue: Trace? = nil
    let id = randomDigits() + randomDigits()

    /// Returns 16 hexadecimal digits, not all of them zero: such an identifier would be invalid.
    static func randomDigits() -> String { String(format: "%016llx", UInt64.random(in: 1...UInt64.max)) }
}

/// Sends a `traceparent` header with each exchange, so a server's spans become children of the caller's.
///
/// Its place is `.exchange`: each attempt and each redirect gets its own span, and two callers with different traces still share an
/// exchange.
struct TraceContext: HTTPLoader {
    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        var request = request
        request.headers["traceparent"] = "00-\((request[Trace.self] ?? Trace()).id)-\(Trace.randomDigits())-01"
        return try await next(request)
    }
}
