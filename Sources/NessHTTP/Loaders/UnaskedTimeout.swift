/// Sends a request again, once, that met the answer to an earlier silence.
///
/// A server that closes an idle connection may say 408 before it does. The next request on that connection, sent before the close was
/// seen, takes this for its answer. RFC 9110, 15.5.9 lets a client repeat the request on a new connection, which is done where repeating
/// does no harm.
struct UnaskedTimeout: HTTPLoader {
    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let response = try await next(request)
        guard response.statusCode == 408, request.isIdempotent,
            response.headers[HeaderName.connection]?.equalsIgnoringCase("close") == true
        else { return response }
        return try await next(request)
    }
}
