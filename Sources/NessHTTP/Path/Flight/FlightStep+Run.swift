import Foundation
import NessPromise

/// Runs a flight: the ranges of a download, the redirects of each request, and the cookies and the cache again for a redirect's target.
extension FlightStep {
    /// Runs a flight, and gives its members the outcome.
    @inline(never)
    func run(_ flight: Flight) async -> Result<HTTPResponse, any Error> {
        let outcome: Result<HTTPResponse, any Error>
        do {
            try flight.checkStop()
            if let job = flight.context.job {
                outcome = .success(try await download(by: job, flight))
            } else {
                outcome = .success(try await sendFollowingRedirects(flight.request, flight, flight.context.options.sink))
            }
        } catch {
            outcome = .failure(error)
        }
        table.remove(flight)
        if !flight.request.method.isSafe { await didWrite(flight.request, outcome) }
        return flight.finish(outcome)
    }

    /// A write has ended, which may have outdated earlier reads. A failed write counts as well, because the server may have acted on it.
    @inline(never)
    private func didWrite(_ request: HTTPRequest, _ outcome: Result<HTTPResponse, any Error>) async {
        table.closeReads(after: request)
        if case .success(let response) = outcome, !response.history.isEmpty { table.closeReads(after: response) }
        await cache?.invalidate(after: request, outcome)
    }

    /// Runs a job, which fetches the file with as many requests as it needs. Each of them is redirected separately.
    @inline(never)
    func download(by job: DownloadJob, _ flight: Flight) async throws -> HTTPResponse {
        guard let download = makeDownload(flight) else { return try await sendFollowingRedirects(flight.request, flight, nil) }
        // Runs as registered work: a reset waits until the partial file is ready for another run.
        return try await running.work(flight.context.options.epoch) { try await job.run(download) }
    }

    /// Returns the download of a flight; `nil` for another request.
    @inline(never)
    private func makeDownload(_ flight: Flight) -> DownloadRequest? {
        let (request, context) = (flight.request, flight.context)
        guard let target = context.options.download else { return nil }
        // Application code may ignore cancellation. The job must not wait for it, because the next run needs the file.
        let isAbandonable = exchanges.runsApplicationCode(request, context) || request.redirects.asksApplication
        return DownloadRequest(
            request: request, caller: context.request, target: target,
            source: PartialRecord.source(of: request, identifiedBy: target.identifier),
            keepsContentCoding: (context.transport ?? exchanges.wire.transport).keepsContentCoding, elapsed: clock.elapsed,
            send: { [self] request, sink in
                guard isAbandonable else { return try await sendFollowingRedirects(request, flight, sink) }
                return try await AbandonableWork.run(stoppedBy: { _ in }) { [self] in
                    try await sendFollowingRedirects(request, flight, sink)
                }
            },
            reportSaved: { flight.report(.received($0, of: $0)) })
    }

    /// Sends a request and follows its redirects, so that no transport has to, and the same rules apply to every transport.
    /// - Parameters:
    ///   - request: The request.
    ///   - flight: The flight.
    ///   - sink: Takes the body of the final response as it arrives; `nil` to collect it in memory.
    @inline(never)
    func sendFollowingRedirects(_ request: HTTPRequest, _ flight: Flight, _ sink: (any BodySink)?) async throws -> HTTPResponse {
        var request = request
        var redirects = RedirectHistory()
        while true {
            sink?.willTakeBody(after: redirects.history)
            let response: HTTPResponse
            do {
                // A redirected write bypasses the cache: it may have outdated what is stored.
                if let cache, sink == nil, !redirects.history.isEmpty, flight.request.method.isSafe {
                    response = try await load(request, RedirectedFlight(flight, byteCount: redirects.byteCount), from: cache)
                } else {
                    response = try await send(withCookies(request, flight), flight, sink, bytesBefore: redirects.byteCount)
                }
            } catch {
                throw redirects.attributed(error)
            }
            guard let following = Self.following(response, of: flight),
                let next = try await redirects.follow(response, to: following, by: request.redirects, for: flight.context.call.request)
            else { return try redirects.ended(with: response) }
            request = next
        }
    }

    /// Returns the request that a redirect asks for; `nil` if the response is not a redirect.
    @inline(never)
    private static func following(_ response: HTTPResponse, of flight: Flight) -> HTTPRequest? {
        RedirectHistory.following(
            response, keepingCredentialInside: flight.context.credentialScope, in: flight.context.options.environment)
    }

    /// Loads the target of a redirect from the cache, or from the server.
    @inline(never)
    private func load(_ request: HTTPRequest, _ redirected: RedirectedFlight, from cache: CacheStep) async throws -> HTTPResponse {
        let flight = redirected.flight
        let upstream = CacheUpstream(flights: self, context: flight.context, redirected: redirected)
        return try await cache.load(withCookies(request, flight), over: upstream)
    }

    /// Sends a request of a flight, and stores the cookies that the response sets.
    @inline(__always)
    func send(_ request: HTTPRequest, _ flight: Flight, _ sink: (any BodySink)?, bytesBefore: Int) async throws -> HTTPResponse {
        let response = try await exchanges.send(request, flight, sink, bytesBefore: bytesBefore)
        // With a sink, the exchange stores them when the head arrives: the end of the body may be hours away, or never arrive.
        if let jar, sink == nil, !request.settings.bypassesCookies { jar.store(from: response.headers, url: response.url) }
        return response
    }

    /// Returns a request with the cookies of its URL.
    @inline(never)
    private func withCookies(_ request: HTTPRequest, _ flight: Flight) -> HTTPRequest {
        jar?.adding(to: request, known: flight.context.cookies ?? JarCookies()) ?? request
    }
}

/// A flight after some of its redirects, which collects its body in memory.
final class RedirectedFlight: Sendable {
    let flight: Flight
    /// The number of bytes in the redirects' bodies.
    let byteCount: Int

    init(_ flight: Flight, byteCount: Int) { (self.flight, self.byteCount) = (flight, byteCount) }
}
