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
        let context = flight.context
        var redirects = RedirectHistory(
            of: context.call.request, keepingCredentialInside: context.credentialScope, in: context.options.environment,
            abandonsDecisions: context.options.isContinuable)
        while true {
            sink?.willTakeBody(after: redirects.history)
            let response: HTTPResponse
            do {
                // Not behind a write, which outdates what is stored.
                if let cache, sink == nil, !redirects.history.isEmpty, flight.request.method.isSafe {
                    response = try await load(request, RedirectedFlight(flight, byteCount: redirects.byteCount), from: cache)
                } else {
                    response = try await send(withCookies(request, flight), flight, sink, bytesBefore: redirects.byteCount)
                }
            } catch {
                throw redirects.attributed(error)
            }
            guard var following = redirects.following(response) else { return try redirects.ended(with: response) }
            following.removeCacheConditions()
            guard try await redirects.follow(response, to: following, by: request.redirects) else {
                return try redirects.ended(with: response)
            }
            request = redirects.next(after: request)
        }
    }

    /// Completes the request that a redirect asks for with a stored response, or sends it.
    @inline(never)
    private func load(_ request: HTTPRequest, _ redirected: RedirectedFlight, from cache: CacheStep) async throws -> HTTPResponse {
        let flight = redirected.flight
        let upstream = CacheUpstream(pipeline: self, context: flight.context, redirected: redirected)
        return try await cache.load(withCookies(request, flight), over: upstream)
    }

    /// Sends a request of a flight, and stores the cookies that the response sets.
    @inline(__always)
    func send(_ request: HTTPRequest, _ flight: Flight, _ sink: (any BodySink)?, bytesBefore: Int) async throws -> HTTPResponse {
        let response = try await exchanges.send(request, flight, sink, bytesBefore: bytesBefore)
        // An exchange with a sink stores them at the head: the end of the body may be hours away, or never come.
        if let jar, sink == nil, !request.settings.bypassesCookies { jar.store(from: response.headers, url: response.url) }
        return response
    }

    /// Returns a request with the cookies of its URL.
    @inline(never)
    private func withCookies(_ request: HTTPRequest, _ flight: Flight) -> HTTPRequest {
        guard let jar, request.takesCookies else { return request }
        let cookies = flight.context.cookies ?? JarCookies()
        return cookies.set(in: request) { jar.header(for: request.url, besides: $0) }
    }
}

/// A flight after some of its redirects, which collects its body in memory.
final class RedirectedFlight: Sendable {
    let flight: Flight
    /// The number of bytes in the redirects' bodies.
    let byteCount: Int

    init(_ flight: Flight, byteCount: Int) { (self.flight, self.byteCount) = (flight, byteCount) }
}
