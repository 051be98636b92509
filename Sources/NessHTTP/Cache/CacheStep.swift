import Foundation
import NessLock

/// Serves requests from the cache where RFC 9111 allows a private cache to do so, and stores responses: see `HTTPCache`.
///
/// It is below authentication, so that it knows the credential, and above the sharing of flights, so that its own requests are shared.
///
/// Synchronous work is not inlined: its variables would enlarge the async frame that a waiting request keeps.
final class CacheStep: Sendable {
    private let cache: HTTPCache
    private let clock: PipelineClock
    /// The time of day at the clock's zero. The cache's time is this plus the clock's count, so that a change of the system's time does not
    /// make a response younger.
    private let origin: Date
    /// The stored responses for which a newer one is fetched in the background.
    private let revalidations = Lock<Set<Revalidation>>([])

    private struct Revalidation: Hashable, Sendable {
        let key: CacheKey
        let variant: ExactText
    }

    init(_ cache: HTTPCache, clock: PipelineClock) {
        self.cache = cache
        self.clock = clock
        origin = cache.wallClock() - clock.elapsed().seconds
    }

    /// True if a request may wait for a storage, which ignores a cancellation.
    var hasStorage: Bool { cache.hasStorage }

    private var now: Date { origin + clock.elapsed().seconds }

    /// Completes a request with a stored response, or with one from the server.
    /// - Throws: The error of the steps below; `NessError.Kind.notCached` if the request forbids the network, and no stored
    ///   response satisfies it.
    @inline(never)
    func load(_ request: HTTPRequest, over upstream: any Upstream) async throws -> HTTPResponse {
        if !request.method.isSafe { return try await upstream.send(request) }
        guard let query = try query(request, over: upstream) else { return try await upstream.send(request) }
        if let answer = answer(to: query) { return answer }
        return try await answerFromStorageOrServer(query)
    }

    /// Returns the user's stored response, in place of an error that kept the request from getting its credential.
    /// - Parameters:
    ///   - user: The user's stable name.
    ///   - request: The request without the credential.
    func answer(toUser user: String, _ request: HTTPRequest, over upstream: any Upstream) async -> HTTPResponse? {
        guard var query = try? query(request, of: user, over: upstream) else { return nil }
        if query.stored.response == nil, cache.hasStorage {
            let fetch = cache.beginFetch(query.key)
            defer { cache.endFetch(fetch) }
            query = await findInStorage(query, fetch)
        }
        guard let stored = query.stored.response else { return nil }
        return stored.use(for: query.directives, at: now) == .validate ? staleReplacement(for: query) : stored.answer(to: request, at: now)
    }

    func reset() async {
        revalidations.withLock { $0 = [] }
        await cache.removeAll(clock)
    }

    // MARK: what is stored

    /// Looks into memory.
    /// - Returns: The query; `nil` if no response may be taken from the cache, or stored.
    @inline(never)
    private func query(_ request: HTTPRequest, of user: String? = nil, over upstream: any Upstream) throws -> CacheQuery? {
        let directives = CacheControl(ofRequest: request.headers)
        guard upstream.isCacheable, request.isCacheable, !directives.has("no-store"), let key = key(request, of: user, over: upstream)
        else {
            if directives.has("only-if-cached") { throw nothingStored(upstream) }
            return nil
        }
        return CacheQuery(request, key, directives, cache.find(key, request), upstream)
    }

    private func key(_ request: HTTPRequest, of user: String? = nil, over upstream: any Upstream) -> CacheKey? {
        CacheKey(request, of: user, over: upstream.route(of: request), by: cache.userCookies, besides: upstream.cookies)
    }

    @inline(never)
    private func findInStorage(_ query: CacheQuery, _ fetch: HTTPCache.Fetch) async -> CacheQuery {
        query.with(await cache.findInStorage(query.key, query.request, fetch, clock))
    }

    /// Returns the stored response; `nil` if the request has to reach the server. A retry has to: the response may be the one that a
    /// validator rejected.
    @inline(never)
    private func answer(to query: CacheQuery) -> HTTPResponse? {
        let forbidsNetwork = query.directives.has("only-if-cached")
        guard let stored = query.stored.response, query.upstream.attempt == 1 || forbidsNetwork else { return nil }
        let now = now, use = stored.use(for: query.directives, at: now)
        guard use != .validate, let answer = stored.answer(to: query.request, at: now) else { return nil }
        if use == .answerAndRevalidate, !forbidsNetwork { revalidate(stored, query) }
        return answer
    }

    /// Returns the stored response if `stale-if-error` allows it in place of an error.
    @inline(never)
    private func staleReplacement(for query: CacheQuery) -> HTTPResponse? {
        let now = now
        guard let stored = query.stored.response, stored.mayReplaceError(for: query.directives, at: now) else { return nil }
        return stored.answer(to: query.request, at: now)
    }

    /// The error if no response is stored and the request forbids the network. RFC 9111, 5.2.1.7, asks a cache for a 504, but a caller
    /// could not distinguish it from a gateway's 504.
    private func nothingStored(_ upstream: any Upstream) -> NessError {
        upstream.error(.notCached, "no stored response satisfies the request, which forbids the network (only-if-cached)")
    }

    // MARK: the server

    /// Looks into the storage, and asks the server.
    @inline(never)
    private func answerFromStorageOrServer(_ query: CacheQuery) async throws -> HTTPResponse {
        let fetch = cache.beginFetch(query.key)
        defer { cache.endFetch(fetch) }
        var query = query
        if query.stored.response == nil, cache.hasStorage {
            query = await findInStorage(query, fetch)
            if let answer = answer(to: query) { return answer }
        }
        if query.directives.has("only-if-cached") { throw nothingStored(query.upstream) }
        do {
            if staleReplacement(for: query) == nil { return try await fetchAndStore(query, fetch) }
            return try await query.upstream.sendUntilDeadline { [self, query] in try await fetchAndStore(query, fetch) }
        } catch {
            guard !Task.isCancelled, (error as? NessError)?.isTransient == true, let stale = staleReplacement(for: query) else {
                throw error
            }
            return stale
        }
    }

    /// Sends the request to the server, with the validators of a stored response if there is one, and stores the response.
    @inline(never)
    private func fetchAndStore(_ query: CacheQuery, _ fetch: HTTPCache.Fetch) async throws -> HTTPResponse {
        var sent = now
        var conditional = query.stored.conditional(query.request)
        conditional[IsConditionedByCache.self] = conditional.hasConditions && !query.request.hasConditions
        var response = try await query.upstream.send(conditional)
        if response.statusCode == 304, conditional[IsConditionedByCache.self] {
            if let (updated, confirmed) = updated(by: response, query) {
                await storeOrRemove(updated, query, sent: sent, fetch, confirmed: confirmed)
                return updated
            }
            // The 304 does not concern the stored response.
            sent = now
            response = try await query.upstream.send(query.request)
        }
        if [500, 502, 503, 504].contains(response.statusCode), let stale = staleReplacement(for: query) { return stale }
        // A response to the caller's own conditions or range may be a part or a 304. Only a 200 is complete.
        if response.statusCode == 200 || !query.request.hasConditions { await storeOrRemove(response, query, sent: sent, fetch) }
        return response
    }

    /// A confirmed response in a box, so that the frame that waits for the server has room for a pointer only.
    private typealias Confirmed = CopyOnWriteBox<CachedResponse>

    /// Returns the stored response that a 304 confirms: with the new fields, and as it was stored. `nil` if the 304 does not concern it.
    @inline(never)
    private func updated(by response: HTTPResponse, _ query: CacheQuery) -> (updated: HTTPResponse, confirmed: Confirmed)? {
        guard isForSameKey(response, as: query), let confirmed = query.stored.confirmed(by: response) else { return nil }
        return confirmed.updated(by: response).map { (updated: $0, confirmed: Confirmed(confirmed)) }
    }

    /// False after a redirect (its target was stored below), or if a loader changed the method, URL or credential.
    private func isForSameKey(_ response: HTTPResponse, as query: CacheQuery) -> Bool {
        // The distinction is the query's: a loader below may have set an option, which says nothing about the server.
        response.history.isEmpty && response.request.method == .get
            && CacheKey(
                response.request, over: query.upstream.route(of: response.request), by: cache.userCookies, besides: query.upstream.cookies,
                distinction: query.key.distinction) == query.key
    }

    /// False if the response was fetched for a request with other header fields, which a `duplicateIdentifier` allows.
    private func isOfSameVariant(_ response: HTTPResponse, as query: CacheQuery) -> Bool {
        !query.upstream.hasDuplicateIdentifier
            || response.request.cacheVariant(varyingBy: response.headers) == query.request.cacheVariant(varyingBy: response.headers)
    }

    /// Stores a response. If it may not be stored, removes the older response that it replaces.
    /// - Parameter confirmed: The stored response that a 304 confirmed, and that `response` updates. `nil` without a 304.
    @inline(never)
    private func storeOrRemove(
        _ response: HTTPResponse, _ query: CacheQuery, sent: Date, _ fetch: HTTPCache.Fetch, confirmed: Confirmed? = nil
    ) async {
        guard isForSameKey(response, as: query), isOfSameVariant(response, as: query) else { return }
        let entry = CachedResponse(response, to: query.request, sent: sent, received: now, checksum: confirmed?.fields.checksum)
        if let entry {
            await cache.store(entry, query.key, fetch, clock, record: recordChange(for: entry, of: response, query, confirmed))
        } else if response.statusCode < 300 || [404, 410].contains(response.statusCode) {
            // A 404 or 410 means that the stored response is outdated. Another failure, such as a 405, says nothing about it.
            await cache.remove(query.key, clock)
        }
    }

    @inline(never)
    private func recordChange(
        for entry: CachedResponse, of response: HTTPResponse, _ query: CacheQuery, _ confirmed: Confirmed?
    ) -> HTTPCache.RecordChange {
        // A secret must not reach the storage. A secret `Set-Cookie` never does, because `CacheRecord` omits the field.
        let isSecret = response.headers.contains {
            !$0.name.equalsIgnoringCase(HeaderName.setCookie) && query.request.secrets.containsHeader($0.name)
        }
        if isSecret { return .remove }
        return confirmed.map { entry.isRecorded(with: $0.fields) } == true ? .keep : .write
    }

    /// Gets a newer response in the background. Only one such fetch runs for each stored response.
    private func revalidate(_ stored: CachedResponse, _ query: CacheQuery) {
        let revalidation = Revalidation(key: query.key, variant: ExactText(stored.variant))
        guard revalidations.withLock({ $0.insert(revalidation).inserted }) else { return }
        let request = query.request.withoutConditions
        query.upstream.inBackground(request) { [self] upstream, begin in
            defer { revalidations.withLock { _ = $0.remove(revalidation) } }
            try begin()
            let fetch = cache.beginFetch(query.key)
            defer { cache.endFetch(fetch) }
            return try await fetchAndStore(CacheQuery(request, query.key, query.directives, CacheMatch(stored), upstream), fetch)
        }
    }

    // MARK: writes

    /// Removes the stored responses that a request with an unsafe method may have changed (RFC 9111, 4.4).
    @inline(never)
    func invalidate(after request: HTTPRequest, _ outcome: Result<HTTPResponse, any Error>) async {
        // Without a response, the server may have acted. With an error status and no redirect, it did not.
        let response = try? outcome.get()
        if let response, response.statusCode >= 400, response.url == request.url { return }
        for url in targets(of: request, response) { await cache.invalidate(url, clock) }
    }

    /// Returns the URLs whose stored responses a write may have changed.
    @inline(never)
    private func targets(of request: HTTPRequest, _ response: HTTPResponse?) -> Set<ExactText> {
        var urls = [request.url]
        if let response {
            let named = [HeaderName.location, HeaderName.contentLocation].flatMap { response.headers.values(for: $0) }
            urls += [response.url] + named.compactMap { HTTPResponse.resolve($0, against: response.url) }
        }
        urls.removeAll { !$0.hasSameOrigin(as: request.url) }
        urls += response?.writtenURLs ?? []
        return Set(urls.map { ExactText(ParsedURL($0).normalized) })
    }
}

extension HTTPResponse {
    /// The URLs that have received an unsafe request. A redirect that keeps the method makes its target the target of a write, even at
    /// another origin.
    var writtenURLs: [URL] { ([self] + history).filter { !$0.request.method.isSafe }.map(\.url) }
}

/// True for a request to which the cache has added conditions, which concern the request's URL alone.
private enum IsConditionedByCache: RequestOptionKey {
    static let defaultValue = false
    /// False, because the conditions are header fields, which distinguish requests themselves.
    static let distinguishesRequests = false
}

extension HTTPRequest {
    /// Removes the conditions that the cache has added, for the target of a redirect.
    mutating func removeCacheConditions() {
        guard self[IsConditionedByCache.self] else { return }
        self = withoutConditions
        self[IsConditionedByCache.self] = false
    }

    /// True if a stored response may be used for the request, and if its response may be stored. Only the server can evaluate `If-Match`
    /// and `If-Unmodified-Since`, which guard a change.
    fileprivate var isCacheable: Bool {
        method == .get && body == nil && !headers.contains(HeaderName.ifMatch) && !headers.contains(HeaderName.ifUnmodifiedSince)
    }
}
