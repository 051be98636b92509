import Foundation
import NessPromise

/// Answers requests from the cache where RFC 9111 allows a private cache to do so, and stores responses: see `HTTPCache`.
///
/// This stage is below authentication, so that it knows the credential, and above coalescing, so that its own requests are shared.
final class Cache: HTTPLoader {
    private let cache: HTTPCache
    private let clock: PipelineClock
    private let running: RunningRequests
    /// The time of day at the clock's zero. The cache's time is this plus the clock's count, so that a corrected time of day makes no
    /// response younger.
    private let origin: Date
    private let revalidations = Lock<Set<CacheEntryName>>([])

    init(_ cache: HTTPCache, clock: PipelineClock, running: RunningRequests) {
        self.cache = cache
        self.clock = clock
        self.running = running
        origin = cache.wallClock() - clock.elapsed().seconds
    }

    private var now: Date { origin + clock.elapsed().seconds }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        if !request.method.isSafe { return try await change(request, next) }
        let wanted = CacheControl(ofRequest: request.headers)
        guard request.isCacheable(in: next.context), !wanted.has("no-store") else {
            return wanted.has("only-if-cached") ? nothingStored(request) : try await next(request)
        }
        let key = CacheKey(request)
        let fetch = cache.beginFetch(key.url)
        defer { cache.endFetch(fetch) }
        let known = await cache.find(key, request, fetch)
        let stored = known.response
        // A repeated attempt wants another answer than the failure that caused it.
        if let stored, stored.statusCode < 400 || next.context.attempt == 1 {
            let use = stored.use(for: wanted, at: now)
            if use != .validate, let answer = stored.answer(to: request, at: now) {
                if use == .answerAndRevalidate, !wanted.has("only-if-cached") {
                    revalidate(stored, request.withoutConditions, key, wanted, next)
                }
                return answer
            }
        }
        if wanted.has("only-if-cached") { return nothingStored(request) }
        do {
            return try await get(request, key, known, wanted, fetch, next)
        } catch {
            guard let stored, !Task.isCancelled, (error as? NessError)?.isTransient == true, stored.mayReplaceError(for: wanted, at: now),
                let answer = stored.answer(to: request, at: now)
            else { throw error }
            return answer
        }
    }

    func reset() async {
        revalidations.withLock { $0 = [] }
        await cache.removeAll()
    }

    /// The answer if no response is stored and the request forbids the network (RFC 9111, 5.2.1.7).
    private func nothingStored(_ request: HTTPRequest) -> HTTPResponse {
        var response = HTTPResponse(statusCode: 504, request: request)
        response.source = .cache
        return response
    }

    // MARK: asking

    /// Sends the request to the server, with the validators of a stored response if there is one, and stores the response.
    private func get(
        _ request: HTTPRequest, _ key: CacheKey, _ known: CacheMatch, _ wanted: CacheControl, _ fetch: Int, _ next: HTTPNext
    ) async throws -> HTTPResponse {
        var sent = now
        let asked = known.condition(request)
        var response = try await next(asked)
        if response.statusCode == 304, asked.hasConditions, !request.hasConditions {
            if isAnswer(response, to: key), let updated = known.updated(by: response) {
                await keep(updated, request, key, sent: sent, fetch)
                return updated
            }
            // The 304 does not concern the stored response: the target of a redirect has its own entity tags.
            sent = now
            response = try await next(request)
        }
        if let stored = known.response, [500, 502, 503, 504].contains(response.statusCode), stored.mayReplaceError(for: wanted, at: now),
            let answer = stored.answer(to: request, at: now)
        {
            return answer
        }
        // A response to the caller's own conditions or range may be a part or a 304. Only a 200 is complete.
        if response.statusCode == 200 || !request.hasConditions { await keep(response, request, key, sent: sent, fetch) }
        return response
    }

    /// True unless a redirect changed the method or the URL, or a redirect decision changed the credential.
    private func isAnswer(_ response: HTTPResponse, to key: CacheKey) -> Bool {
        response.request.method == .get && CacheKey(response.request) == key
    }

    /// Stores a response. If it may not be stored, removes the older response that it replaces.
    private func keep(_ response: HTTPResponse, _ request: HTTPRequest, _ key: CacheKey, sent: Date, _ fetch: Int) async {
        guard isAnswer(response, to: key) else { return }
        if let entry = CachedResponse(response, to: request, sent: sent, received: now) {
            let isSecret = response.headers.contains { request.secrets.containsHeader($0.name) }
            await cache.store(entry, key, fetch, isSecret: isSecret)
        } else if response.statusCode < 300 || [404, 410].contains(response.statusCode) {
            await cache.remove(key)
        }
    }

    /// Gets a newer response in the background. Only one such fetch runs for each stored response. It is cancelled like the request's own
    /// exchange, and by a reset.
    private func revalidate(
        _ stored: CachedResponse, _ request: HTTPRequest, _ key: CacheKey, _ wanted: CacheControl, _ next: HTTPNext
    ) {
        let name = CacheEntryName(key: key, variant: stored.variant)
        guard revalidations.withLock({ $0.insert(name).inserted }) else { return }
        // The background fetch has its own call: the caller's call is already answered and must see no more events.
        let call = Call(request, next.context.call.choices, tracker: RequestTracker(clock))
        let quiet = next.context.background(call)
        let promise = Promise<HTTPResponse>(makeDropError: { CancellationError() })
        let id = running.add(promise, groups: call.choices.groups)
        promise.start { [self] in
            let fetch = cache.beginFetch(key.url)
            defer { cache.endFetch(fetch) }
            let rest = HTTPNext(in: quiet) { try await next($0, in: $1) }
            return try await Deadline(clock: clock).load(
                request,
                next: HTTPNext(in: quiet) { request, _ in
                    try await self.get(request, key, CacheMatch(stored), wanted, fetch, rest)
                })
        } settled: { [self] _ in
            revalidations.withLock { _ = $0.remove(name) }
            running.remove(id)
        }
    }

    // MARK: changing

    /// Sends a request with an unsafe method, and removes the stored responses that it may have changed (RFC 9111, 4.4).
    private func change(_ request: HTTPRequest, _ next: HTTPNext) async throws -> HTTPResponse {
        do {
            let response = try await next(request)
            // The server acted on a request that it redirected.
            if response.statusCode < 400 || response.url != request.url { await invalidate(request, response) }
            return response
        } catch {
            // The server may have acted on the request although it failed.
            await invalidate(request, nil)
            throw error
        }
    }

    private func invalidate(_ request: HTTPRequest, _ response: HTTPResponse?) async {
        var urls = [request.url]
        if let response {
            let named = [HeaderName.location, HeaderName.contentLocation].flatMap { response.headers.values(for: $0) }
            urls += [response.url] + named.compactMap { URL(string: $0, relativeTo: response.url)?.absoluteURL }
        }
        for url in Set(urls.filter { $0.hasSameOrigin(as: request.url) }.map(CacheKey.digest)) { await cache.invalidate(url) }
    }
}

extension HTTPRequest {
    /// True if a stored response may answer the request, and if its response may be stored. Only the server can evaluate `If-Match` and
    /// `If-Unmodified-Since`, which guard a change.
    fileprivate func isCacheable(in context: CallContext) -> Bool {
        method == .get && context.call.choices.kind == .data && context.sink == nil && body == nil && self[OwnTransport.self] == nil
            && !headers.contains(HeaderName.ifMatch) && !headers.contains(HeaderName.ifUnmodifiedSince)
    }
}
