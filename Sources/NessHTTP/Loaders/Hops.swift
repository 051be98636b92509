/// The requests of one exchange: a download's ranges, and redirects.
extension Pipeline {
    /// Runs an exchange, for all callers who share it.
    func hops(_ request: HTTPRequest, _ exchange: Exchange) async throws -> HTTPResponse {
        if exchange.context.policies.kind == .download { return try await download(request, exchange) }
        return try await redirects(request, exchange, exchange.context.policies.sink)
    }

    /// Sends a request and follows its redirects, so that no transport has to, and the same rules apply to every transport.
    /// - Parameters:
    ///   - request: The request.
    ///   - exchange: The exchange.
    ///   - sink: Takes the body of the final response as it arrives; `nil` to collect it in memory.
    func redirects(_ request: HTTPRequest, _ exchange: Exchange, _ sink: (any BodySink)?) async throws -> HTTPResponse {
        var request = request
        var redirects = Redirects(exchange.context)
        while true {
            sink?.willTakeBody(after: redirects.history)
            let response: HTTPResponse
            do {
                response = try await hop(request, exchange, sink, bytesBefore: redirects.byteCount)
            } catch {
                throw redirects.explain(error)
            }
            guard let following = redirects.following(response),
                try await redirects.follow(response, to: following, by: request.redirects)
            else {
                // A loader has made a final response of a redirect.
                if response.isCut { throw exchange.context.error(.truncated, "the redirect's body was not received", response: response) }
                return redirects.ended(with: response)
            }
            request = redirects.next(after: request)
        }
    }

    /// Sends one request, with the cookies of its URL.
    private func hop(
        _ request: HTTPRequest, _ exchange: Exchange, _ sink: (any BodySink)?, bytesBefore: Int
    ) async throws -> HTTPResponse {
        guard let jar, !request[BypassesCookies.self] else {
            return try await self.exchange(request, exchange, sink, bytesBefore: bytesBefore)
        }
        let cookies = exchange.context.cookies ?? JarCookies()
        let response = try await self.exchange(
            cookies.set(in: request) { jar.header(for: request.url, besides: $0) }, exchange, sink, bytesBefore: bytesBefore)
        // A hop with a sink stores them at the head: the end of the body may be hours away, or never come.
        if sink == nil { jar.store(from: response.headers, url: request.url) }
        return response
    }
}
