/// The redirects of a flight: the second of the three functions that a request goes through.
extension Pipeline {
    /// Sends a request and follows its redirects, so that no transport has to, and the same rules apply to every transport.
    /// - Parameters:
    ///   - request: The request.
    ///   - flight: The flight.
    ///   - sink: Takes the body of the final response as it arrives; `nil` to collect it in memory.
    @inline(never)
    func redirects(_ request: HTTPRequest, _ flight: Flight, _ sink: (any BodySink)?) async throws -> HTTPResponse {
        var request = request
        var redirects = RedirectHistory(flight.context)
        while true {
            sink?.willTakeBody(after: redirects.history)
            let response: HTTPResponse
            do {
                response = try await exchange(withCookies(request, flight), flight, sink, bytesBefore: redirects.byteCount)
            } catch {
                throw redirects.explain(error)
            }
            // An exchange with a sink stores them at the head: the end of the body may be hours away, or never come.
            if let jar, sink == nil, !request[BypassesCookies.self] { jar.store(from: response.headers, url: response.url) }
            guard let following = redirects.following(response),
                try await redirects.follow(response, to: following, by: request.redirects)
            else {
                return try redirects.ended(with: response)
            }
            request = redirects.next(after: request)
        }
    }

    /// Returns a request with the cookies of its URL.
    @inline(never)
    private func withCookies(_ request: HTTPRequest, _ flight: Flight) -> HTTPRequest {
        guard let jar, request.takesCookies else { return request }
        let cookies = flight.context.cookies ?? JarCookies()
        return cookies.set(in: request) { jar.header(for: request.url, besides: $0) }
    }
}
