import Foundation
import NessPromise

/// Answers from what is stored where RFC 9111 lets a private cache do so, and stores what comes: see `HTTPCache`.
///
/// It is below authentication, so that it knows who asks, and above coalescing, so that what it asks itself is shared.
final class Cache: HTTPLoader {
    private let cache: HTTPCache
    private let clock: Timekeeper
    private let running: RunningRequests
    /// The time of day when the clock stood at zero. From there the clock counts: no correction of the time of day makes anything younger.
    private let origin: Date
    private let revalidations = Lock<Set<CacheEntryName>>([])

    init(_ cache: HTTPCache, clock: Timekeeper, running: RunningRequests) {
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
        // Another attempt is for another answer than the failure that it comes after.
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

    /// What stands for nothing being stored, where the network must not be asked (RFC 9111, 5.2.1.7).
    private func nothingStored(_ request: HTTPRequest) -> HTTPResponse {
        var response = HTTPResponse(statusCode: 504, request: request)
        response.source = .cache
        return response
    }

    // MARK: asking

    /// Asks the server, about what is stored if there is something, and stores what comes.
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
            // It speaks of something else: a redirect's target has tags of its own.
            sent = now
            response = try await next(request)
        }
        if let stored = known.response, [500, 502, 503, 504].contains(response.statusCode), stored.mayReplaceError(for: wanted, at: now),
            let answer = stored.answer(to: request, at: now)
        {
            return answer
        }
        // A part, or a word about the caller's own copy, is not all that there is.
        if response.statusCode == 200 || !request.hasConditions { await keep(response, request, key, sent: sent, fetch) }
        return response
    }

    /// True unless a redirect led elsewhere, or a decision on one to another credential.
    private func isAnswer(_ response: HTTPResponse, to key: CacheKey) -> Bool {
        response.request.method == .get && CacheKey(response.request) == key
    }

    /// Stores a response, or forgets the one that it takes the place of.
    private func keep(_ response: HTTPResponse, _ request: HTTPRequest, _ key: CacheKey, sent: Date, _ fetch: Int) async {
        guard isAnswer(response, to: key) else { return }
        if let entry = CachedResponse(response, to: request, sent: sent, received: now) {
            let isSecret = response.headers.contains { request.secrets.containsHeader($0.name) }
            await cache.store(entry, key, fetch, isSecret: isSecret)
        } else if response.statusCode < 300 || [404, 410].contains(response.statusCode) {
            await cache.remove(key)
        }
    }

    /// Gets a newer response while nobody waits for it; once, however many ask meanwhile. It is dropped as its request would be, and by
    /// a reset.
    private func revalidate(
        _ stored: CachedResponse, _ request: HTTPRequest, _ key: CacheKey, _ wanted: CacheControl, _ next: HTTPNext
    ) {
        let name = CacheEntryName(key: key, variant: stored.variant)
        guard revalidations.withLock({ $0.insert(name).inserted }) else { return }
        // A call of its own: the caller's is answered, and hears no more.
        let call = Call(request, next.context.call.choices, tracker: RequestTracker(clock))
        let quiet = next.context.background(call)
        let promise = Promise<HTTPResponse>(makeDropError: { CancellationError() })
        let remove = running.add(promise, groups: call.choices.groups)
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
            remove()
        }
    }

    // MARK: changing

    /// Sends what may change something, and forgets what that may have changed (RFC 9111, 4.4).
    private func change(_ request: HTTPRequest, _ next: HTTPNext) async throws -> HTTPResponse {
        do {
            let response = try await next(request)
            // What was redirected was not refused.
            if response.statusCode < 400 || response.url != request.url { await invalidate(request, response) }
            return response
        } catch {
            // The server may have acted on it nevertheless.
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
    /// Whether it is one that a stored response may answer, and whose response may be stored. Whether the server has what a caller means to
    /// change, the server alone can say.
    fileprivate func isCacheable(in context: CallContext) -> Bool {
        method == .get && context.call.choices.kind == .data && context.sink == nil && body == nil && self[OwnTransport.self] == nil
            && !headers.contains(HeaderName.ifMatch) && !headers.contains(HeaderName.ifUnmodifiedSince)
    }
}
