import Foundation
import NessLock
import NessPromise

/// Serves requests from the cache where RFC 9111 allows a private cache to do so, and stores responses: see `HTTPCache`.
///
/// It is below authentication, so that it knows the credential, and above the sharing of flights, so that its own requests are shared.
final class CacheStep: Sendable {
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

    /// True if a request may wait for a storage, which ignores a cancellation.
    var hasStorage: Bool { cache.hasStorage }

    private var now: Date { origin + clock.elapsed().seconds }

    /// The steps below the cache, with the context of the request.
    private struct Next: Sendable {
        let pipeline: Pipeline
        let context: CallContext
        /// The redirects that led to the request, in a flight; `nil` for a request that no redirect made.
        let redirects: RedirectedFlight?

        func callAsFunction(_ request: HTTPRequest) async throws -> HTTPResponse {
            if let redirects { return try await pipeline.send(request, redirects.flight, nil, bytesBefore: redirects.byteCount) }
            return try await pipeline.share(request, context)
        }
    }

    private func key(_ request: HTTPRequest, of user: String? = nil, _ next: Next) -> CacheKey {
        CacheKey(request, of: user, over: next.pipeline.wire.route(of: request), by: cache.userCookies, besides: next.context.cookies)
    }

    /// A request that may have to reach the server, and what is stored for it. An object, because a waiting function would have room for
    /// all of it in its frame.
    private final class Question: Sendable {
        let request: HTTPRequest
        let key: CacheKey
        let wanted: CacheControl
        let known: CacheMatch
        let next: Next

        init(_ request: HTTPRequest, _ key: CacheKey, _ wanted: CacheControl, _ known: CacheMatch, _ next: Next) {
            (self.request, self.key, self.wanted, self.known, self.next) = (request, key, wanted, known, next)
        }
    }

    /// The result of a look into memory.
    private enum Found {
        case answer(HTTPResponse)
        /// No stored response satisfies a request that forbids the network.
        case nothingStored
        /// No response may be taken from the cache, or stored.
        case uncached
        case question(Question)
    }

    /// Completes a request with a stored response, or with one from the server.
    /// - Parameters:
    ///   - request: The request.
    ///   - context: Its context.
    ///   - redirects: The redirects that led to the request, if any did. Their flight sends it.
    @inline(never)
    func load(
        _ request: HTTPRequest, in context: CallContext, _ pipeline: Pipeline, after redirects: RedirectedFlight? = nil
    ) async throws -> HTTPResponse {
        let next = Next(pipeline: pipeline, context: context, redirects: redirects)
        if !request.method.isSafe { return try await next(request) }
        switch find(request, next) {
        case .answer(let response): return response
        case .nothingStored: throw nothingStored(context)
        case .uncached: return try await next(request)
        case .question(let question): return try await ask(question)
        }
    }

    // Here and below, all that neither a hit in memory nor a waiting request needs has a separate frame.
    @inline(never)
    private func find(_ request: HTTPRequest, _ next: Next) -> Found {
        let wanted = CacheControl(ofRequest: request.headers)
        guard request.isCacheable(in: next.context), !wanted.has("no-store") else {
            return wanted.has("only-if-cached") ? .nothingStored : .uncached
        }
        let key = key(request, next)
        let question = Question(request, key, wanted, cache.find(key, request).usable(in: next.context.attempt), next)
        return answer(question).map { .answer($0) } ?? .question(question)
    }

    @inline(never)
    private func ask(_ question: Question) async throws -> HTTPResponse {
        let fetch = cache.beginFetch(question.key)
        defer { cache.endFetch(fetch) }
        var question = question
        if question.known.response == nil, cache.hasStorage {
            question = await findInStorage(question, fetch)
            if let answer = answer(question) { return answer }
        }
        if question.wanted.has("only-if-cached") { throw nothingStored(question.next.context) }
        do {
            // The deadline is the call's, not that of a request that a loader made, or of a flight that others may have joined.
            let next = question.next
            guard stale(question) != nil, !next.context.isLoaderMade, next.redirects == nil else { return try await get(question, fetch) }
            return try await question.next.context.call.untilDeadline { [self, question] in try await get(question, fetch) }
        } catch {
            guard !Task.isCancelled, (error as? NessError)?.isTransient == true, let stale = stale(question) else { throw error }
            return stale
        }
    }

    @inline(never)
    private func findInStorage(_ question: Question, _ fetch: Int) async -> Question {
        let known = await cache.findInStorage(question.key, question.request, fetch, clock).usable(in: question.next.context.attempt)
        return Question(question.request, question.key, question.wanted, known, question.next)
    }

    @inline(never)
    private func stale(_ question: Question) -> HTTPResponse? { stale(question.known.response, question.request, question.wanted) }

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
        let key = key(request, of: user, Next(pipeline: pipeline, context: context, redirects: nil))
        var stored = cache.find(key, request).usable(in: context.attempt).response
        if stored == nil, cache.hasStorage {
            let fetch = cache.beginFetch(key)
            defer { cache.endFetch(fetch) }
            stored = await cache.findInStorage(key, request, fetch, clock).usable(in: context.attempt).response
        }
        guard let stored else { return nil }
        return stored.use(for: wanted, at: now) == .validate ? stale(stored, request, wanted) : stored.answer(to: request, at: now)
    }

    /// Returns the result of a stored response; `nil` if the request has to reach the server. A retry has to: the response may be the one
    /// that a validator rejected.
    @inline(never)
    private func answer(_ question: Question) -> HTTPResponse? {
        guard let stored = question.known.response, question.next.context.attempt == 1 || question.wanted.has("only-if-cached") else {
            return nil
        }
        let now = now, use = stored.use(for: question.wanted, at: now)
        guard use != .validate, let answer = stored.answer(to: question.request, at: now) else { return nil }
        if use == .answerAndRevalidate, !question.wanted.has("only-if-cached") { revalidate(stored, question) }
        return answer
    }

    func reset() async {
        revalidations.withLock { $0 = [] }
        await cache.removeAll(clock)
    }

    /// The error if no response is stored and the request forbids the network. RFC 9111, 5.2.1.7, asks a cache for a 504, which a caller
    /// could not tell from that of a gateway.
    private func nothingStored(_ context: CallContext) -> NessError {
        context.error(.notCached, "no stored response satisfies the request, which forbids the network (only-if-cached)")
    }

    // MARK: asking

    /// Sends the request to the server, with the validators of a stored response if there is one, and stores the response.
    @inline(never)
    private func get(_ question: Question, _ fetch: Int) async throws -> HTTPResponse {
        var sent = now
        var asked = question.known.condition(question.request)
        asked[IsConditionedByCache.self] = asked.hasConditions && !question.request.hasConditions
        var response = try await question.next(asked)
        if response.statusCode == 304, asked[IsConditionedByCache.self] {
            if let updated = updated(by: response, question) {
                await keep(updated, question, sent: sent, fetch, confirmedBy: response)
                return updated
            }
            // The 304 does not concern the stored response.
            sent = now
            response = try await question.next(question.request)
        }
        if [500, 502, 503, 504].contains(response.statusCode), let stale = stale(question) { return stale }
        // A response to the caller's own conditions or range may be a part or a 304. Only a 200 is complete.
        if response.statusCode == 200 || !question.request.hasConditions { await keep(response, question, sent: sent, fetch) }
        return response
    }

    /// Returns the stored response that a 304 confirms, with the new fields.
    @inline(never)
    private func updated(by response: HTTPResponse, _ question: Question) -> HTTPResponse? {
        guard isAnswer(response, to: question.key, question.next) else { return nil }
        return question.known.confirmed(by: response)?.updated(by: response)
    }

    /// True unless the response is that of a redirect's target, which was stored below, or a loader changed method, URL or credential.
    private func isAnswer(_ response: HTTPResponse, to key: CacheKey, _ next: Next) -> Bool {
        response.history.isEmpty && response.request.method == .get && self.key(response.request, next) == key
    }

    /// False if the response was fetched for a request with other header fields, which a `duplicateIdentifier` allows.
    private func isOfSameVariant(_ response: HTTPResponse, as question: Question) -> Bool {
        question.next.context.options.duplicateIdentifier == nil
            || response.request.cacheVariant(by: response.headers) == question.request.cacheVariant(by: response.headers)
    }

    /// Stores a response, or a stored one that a 304 confirmed. If it may not be stored, removes the older response that it replaces.
    @inline(never)
    private func keep(
        _ response: HTTPResponse, _ question: Question, sent: Date, _ fetch: Int, confirmedBy confirmation: HTTPResponse? = nil
    ) async {
        guard isAnswer(response, to: question.key, question.next), isOfSameVariant(response, as: question) else { return }
        let stored = confirmation.flatMap { question.known.confirmed(by: $0) }
        let entry = CachedResponse(
            response, to: question.request, sent: sent, received: now, checksum: stored?.checksum)
        if let entry {
            // A record has no cookies.
            let isSecret = response.headers.contains {
                !$0.name.equalsIgnoringCase(HeaderName.setCookie) && question.request.secrets.containsHeader($0.name)
            }
            let isWritten = stored.map(entry.isWritten) ?? false
            await cache.store(entry, question.key, fetch, clock, isSecret: isSecret, isWritten: isWritten)
        } else if response.statusCode < 300 || [404, 410].contains(response.statusCode) {
            await cache.remove(question.key, clock)
        }
    }

    /// Gets a newer response in the background. Only one such fetch runs for each stored response. It is canceled like the request's own
    /// exchange, and by a reset.
    private func revalidate(_ stored: CachedResponse, _ question: Question) {
        let key = question.key, next = question.next
        let name = [key.url, key.user, key.credential, ExactText(stored.variant)]
        guard revalidations.withLock({ $0.insert(name).inserted }) else { return }
        let request = question.request.withoutConditions
        // The background fetch has its own call: the caller's call has already completed and must see no more events.
        let context = next.context.inSeparateCall(request, clock: clock)
        let rest = Next(pipeline: next.pipeline, context: context, redirects: nil)
        context.call.start(for: nil, in: next.pipeline.running) { [self] call in
            defer { revalidations.withLock { _ = $0.remove(name) } }
            try call.begin(in: rest.pipeline.running)
            let fetch = cache.beginFetch(key)
            defer { cache.endFetch(fetch) }
            return try await get(Question(request, key, question.wanted, CacheMatch(stored), rest), fetch)
        }
    }

    // MARK: changing

    /// Removes the stored responses that a request with an unsafe method may have changed (RFC 9111, 4.4).
    @inline(never)
    func invalidate(after request: HTTPRequest, _ outcome: Result<HTTPResponse, any Error>) async {
        // The server may have acted on a request that failed, and acted on one that it redirected.
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
private enum IsConditionedByCache: RequestOptionKey { static let defaultValue = false }

extension HTTPRequest {
    /// Removes the conditions that the cache has added, for the target of a redirect.
    mutating func removeCacheConditions() {
        guard self[IsConditionedByCache.self] else { return }
        self = withoutConditions
        self[IsConditionedByCache.self] = false
    }

    /// True if a stored response may be used for the request, and if its response may be stored. Only the server can evaluate `If-Match`
    /// and `If-Unmodified-Since`, which guard a change.
    fileprivate func isCacheable(in context: CallContext) -> Bool {
        method == .get && context.options.kind == .data && context.options.sink == nil && body == nil && context.transport == nil
            && !headers.contains(HeaderName.ifMatch) && !headers.contains(HeaderName.ifUnmodifiedSince)
    }
}
