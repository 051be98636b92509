/// Retries once after a 408 that the server sent to an idle connection before it saw this request.
///
/// A server that closes an idle connection may send a 408 first. If the client sends its next request on that connection before it sees the
/// close, it takes the 408 for the answer. RFC 9110, section 15.5.9, lets a client repeat the request on a new connection. This stage does
/// so if the request is idempotent.
struct StaleTimeoutRetry: HTTPLoader {
    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        var isRepeated = false
        // One place calls `next`, because each would need room of its own in the frame of the waiting task.
        while true {
            let response = try await next(request, in: next.context)
            if isRepeated || !Self.isStale(response, of: request) { return response }
            isRepeated = true
        }
    }

    // Not inlined, for the same reason.
    @inline(never)
    private static func isStale(_ response: HTTPResponse, of request: HTTPRequest) -> Bool {
        response.statusCode == 408 && request.isIdempotent && request.body?.isSpent != true
            && response.headers[HeaderName.connection]?.equalsIgnoringCase("close") == true
    }
}
