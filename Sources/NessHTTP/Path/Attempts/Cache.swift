import Foundation
import NessLock
import NessPromise

/// Serves requests from the cache where RFC 9111 allows a private cache to do so, and stores responses: see `HTTPCache`.
///
/// It is below authentication, so that it knows the credential, and above the sharing of flights, so that its own requests are shared.
final class Cache: Sendable {
    private let cache: HTTPCache
    private let clock: PipelineClock
    /// The time of day at the clock's zero. The cache's time is this plus the clock's count, so that a corrected time of day makes no
    /// response younger.
    private let origin: Date
    private let revalidations = Lock<Set<[ExactText]>>([])

    init(_ cache: HTTPCache, clock: PipelineClock) {
        self.cache = cache
        self.clock = clock
        origin = cache.wallClock() - clock.elapsed().seconds
    }

    private var now: Date { origin + clock.elapsed().seconds }

    /// The loaders below the cache, with the request and the context of the current call.
    private struct Next: Sendable {
        let pipeline: Pipeline
        let context: CallContext

        func callAsFunction(_ request: HTTPRequest) async throws -> HTTPResponse { try await pipeline.share(request, context) }

        func key(_ request: HTTPRequest) -> CacheKey { CacheKey(request, over: pipeline.wire.route(to: request.url)) }
    }

    @inline(never)
    func load(_ request: HTTPRequest, in context: CallContext, _ pipeline: Pipeline) async throws -> HTTPResponse {
        let next = Next(pipeline: pipeline, context: context)
        if !request.method.isSafe { return try await change(request, next) }
        let wanted = CacheControl(ofRequest: request.headers)
        guard request.isCacheable(in: next.context), !wanted.has("no-store") else {
            return wanted.has("only-if-cached") ? nothingStored(request) : try await next(request)
        }
        let key = next.key(request)
        var known = cache.find(key, request)
        if let answer = answer(known.response, request, key, wanted, next) { return answer }
        let fetch = cache.beginFetch(key)
        defer { cache.endFetch(fetch) }
        if known.response == nil, cache.hasFolder {
            known = await cache.findOnDisk(key, request, fetch)
            if let answer = answer(known.response, request, key, wanted, next) { return answer }
        }
        if wanted.has("only-if-cached") { return nothingStored(request) }
        let stored = known.response
        do {
            // The deadline is the call's, not that of a request that a loader made.
            guard stored?.mayReplaceError(for: wanted, at: now) == true, !context.isLoaderMade else {
                return try await get(request, key, known, wanted, fetch, next)
            }
            return try await context.call.untilDeadline { [self, known] in try await get(request, key, known, wanted, fetch, next) }
        } catch {
            guard !Task.isCancelled, (error as? NessError)?.isTransient == true, let stale = stale(stored, request, wanted) else {
                throw error
            }
            return stale
        }
    }

    /// Returns the result of a stored response that `stale-if-error` allows in place of an error.
    private func stale(_ stored: CachedResponse?, _ request: HTTPRequest, _ wanted: CacheControl) -> HTTPResponse? {
        let now = now
        guard let stored, stored.mayReplaceError(for: wanted, at: now) else { return nil }
        return stored.answer(to: request, at: now)
    }

    /// Returns the result of a user's stored response, in place of an error that kept the request from getting its credential.
    /// - Parameters:
    ///   - user: The user's stable name.
    ///   - request: The request without the credential.
    func answer(toUser user: String, _ request: HTTPRequest, in context: CallContext, _ pipeline: Pipeline) async -> HTTPResponse? {
        let wanted = CacheControl(ofRequest: request.headers)
        guard request.isCacheable(in: context), !wanted.has("no-store") else { return nil }
        let key = CacheKey(request, of: user, over: pipeline.wire.route(to: request.url))
        var stored = cache.find(key, request).response
        if stored == nil, cache.hasFolder {
            let fetch = cache.beginFetch(key)
            defer { cache.endFetch(fetch) }
            stored = await cache.findOnDisk(key, request, fetch).response
        }
        guard let stored else { return nil }
        return stored.use(for: wanted, at: now) == .validate ? stale(stored, request, wanted) : stored.answer(to: request, at: now)
    }

    /// Returns the result of a stored response; `nil` if the request has to reach the server.
    private func answer(
        _ stored: CachedResponse?, _ request: HTTPRequest, _ key: CacheKey, _ wanted: CacheControl, _ next: Next
    ) -> HTTPResponse? {
        // A retry must not get the stored copy of the failure that caused it.
        guard let stored, stored.statusCode < 400 || next.context.attempt == 1 else { return nil }
        let now = now, use = stored.use(for: wanted, at: now)
        guard use != .validate, let answer = stored.answer(to: request, at: now) else { return nil }
        if use == .answerAndRevalidate, !wanted.has("only-if-cached") {
            revalidate(stored, request.withoutConditions, key, wanted, next)
        }
        return answer
    }

    func reset() async {
        revalidations.withLock { $0 = [] }
        await cache.removeAll()
    }

    /// The result if no response is stored and the request forbids the network (RFC 9111, 5.2.1.7).
    private func nothingStored(_ request: HTTPRequest) -> HTTPResponse {
        var response = HTTPResponse(statusCode: 504, request: request)
        response.source = .cache
        return response
    }

    // MARK: asking

    /// Sends the request to the server, with the validators of a stored response if there is one, and stores the response.
    private func get(
        _ request: HTTPRequest, _ key: CacheKey, _ known: CacheMatch, _ wanted: CacheControl, _ fetch: Int, _ next: Next
    ) async throws -> HTTPResponse {
        var sent = now
        let asked = known.condition(request)
        var response = try await next(asked)
        if response.statusCode == 304, asked.hasConditions, !request.hasConditions {
            if isAnswer(response, to: key, next), let stored = known.confirmed(by: response),
                let updated = stored.updated(by: response)
            {
                await keep(updated, request, key, sent: sent, fetch, next, over: stored)
                return updated
            }
            // The 304 does not concern the stored response: the target of a redirect has its own entity tags.
            sent = now
            response = try await next(request)
        }
        if [500, 502, 503, 504].contains(response.statusCode), let stale = stale(known.response, request, wanted) { return stale }
        // A response to the caller's own conditions or range may be a part or a 304. Only a 200 is complete.
        if response.statusCode == 200 || !request.hasConditions { await keep(response, request, key, sent: sent, fetch, next) }
        return response
    }

    /// True unless a redirect changed the method or the URL, or a redirect decision changed the credential.
    private func isAnswer(_ response: HTTPResponse, to key: CacheKey, _ next: Next) -> Bool {
        response.request.method == .get && next.key(response.request) == key
    }

    /// Stores a response, or a stored one that a 304 confirmed. If it may not be stored, removes the older response that it replaces.
    private func keep(
        _ response: HTTPResponse, _ request: HTTPRequest, _ key: CacheKey, sent: Date, _ fetch: Int, _ next: Next,
        over stored: CachedResponse? = nil
    ) async {
        guard isAnswer(response, to: key, next) else { return }
        let entry = CachedResponse(
            response, to: request, sent: sent, received: now, validatingJSON: cache.validatesJSON, checksum: stored?.checksum)
        if let entry {
            let isSecret = response.headers.contains { request.secrets.containsHeader($0.name) }
            let isWritten = stored.map(entry.isWritten) ?? false
            await cache.store(entry, key, fetch, isSecret: isSecret, isWritten: isWritten)
        } else if response.statusCode < 300 || [404, 410].contains(response.statusCode) {
            await cache.remove(key)
        }
    }

    /// Gets a newer response in the background. Only one such fetch runs for each stored response. It is canceled like the request's own
    /// exchange, and by a reset.
    private func revalidate(
        _ stored: CachedResponse, _ request: HTTPRequest, _ key: CacheKey, _ wanted: CacheControl, _ next: Next
    ) {
        let name = [key.url, key.user, key.credential, ExactText(stored.variant)]
        guard revalidations.withLock({ $0.insert(name).inserted }) else { return }
        // The background fetch has its own call: the caller's call has already completed and must see no more events.
        let call = Call(.success(request), next.context.options.forLoaderMadeRequest, clock: clock)
        var context = CallContext(call)
        context.credentialScope = next.context.credentialScope
        context.cookies = next.context.cookies
        context.attempt = next.context.attempt
        let rest = Next(pipeline: next.pipeline, context: context)
        call.start(for: nil, in: next.pipeline.running) { [self] call in
            defer { revalidations.withLock { _ = $0.remove(name) } }
            try call.begin(in: rest.pipeline.running)
            let fetch = cache.beginFetch(key)
            defer { cache.endFetch(fetch) }
            return try await get(request, key, CacheMatch(stored), wanted, fetch, rest)
        }
    }

    // MARK: changing

    /// Sends a request with an unsafe method, and removes the stored responses that it may have changed (RFC 9111, 4.4).
    private func change(_ request: HTTPRequest, _ next: Next) async throws -> HTTPResponse {
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
        urls.removeAll { !$0.hasSameOrigin(as: request.url) }
        urls += response?.writtenURLs ?? []
        for url in Set(urls.map { ExactText(ParsedURL($0).normalized) }) { await cache.invalidate(url) }
    }
}

extension HTTPResponse {
    /// The URLs that have received an unsafe request. A redirect that keeps the method makes its target the target of a write, even at
    /// another origin.
    var writtenURLs: [URL] { ([self] + history).filter { !$0.request.method.isSafe }.map(\.url) }
}

extension HTTPRequest {
    /// True if a stored response may be used for the request, and if its response may be stored. Only the server can evaluate `If-Match`
    /// and `If-Unmodified-Since`, which guard a change.
    fileprivate func isCacheable(in context: CallContext) -> Bool {
        method == .get && context.options.kind == .data && context.options.sink == nil && body == nil && context.transport == nil
            && !headers.contains(HeaderName.ifMatch) && !headers.contains(HeaderName.ifUnmodifiedSince)
    }
}
