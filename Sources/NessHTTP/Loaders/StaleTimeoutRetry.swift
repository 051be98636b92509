/// Retries once after a 408 that the server sent to an idle connection before it saw this request.
///
/// A server that closes an idle connection may send a 408 first. If the client sends its next request on that connection before it sees the
/// close, it takes the 408 for the answer. RFC 9110, section 15.5.9, lets a client repeat the request on a new connection. This stage does
/// so if the request is idempotent.
struct StaleTimeoutRetry: HTTPLoader {
    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let response = try await next(request)
        guard response.statusCode == 408, request.isIdempotent, request.body?.isSpent != true,
            response.headers[HeaderName.connection]?.equalsIgnoringCase("close") == true
        else { return response }
        return try await next(request)
    }
}
