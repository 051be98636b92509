import Foundation
import NessLock
import NessPromise

/// A private HTTP cache (RFC 9111), in memory and optionally in a `CacheStorage`, such as a folder.
///
/// ```swift
/// let ness = Ness { $0.cache = HTTPCache(memoryLimit: 10 << 20) }
/// ```
///
/// **Stored responses.** The cache stores complete responses to GET, of data requests without a body. It never guesses a lifetime: a
/// response is used without validation only for the time that its `max-age` or `Expires` allows. Failures are stored for that time as well,
/// but a stored failure is never used for a retry. Redirects are not stored, but the responses behind them are, for their own URLs.
/// Statuses that concern the client or one request (401, 403, 407, 412, 429 and others) are not stored. Without an explicit lifetime, a
/// response with status 200, 203 or 204 and an `ETag` or `Last-Modified` is kept for validation.
///
/// **Conditional requests.** A fresh response serves a request with `If-None-Match`, `If-Modified-Since` or a `Range` of one span: with
/// 304, 206 or the whole body. Without a fresh response the request goes to the server unchanged. `If-Match` and `If-Unmodified-Since`
/// always go to the server.
///
/// **Response directives.** `Vary`, `no-store`, `must-understand`, `no-cache`, `must-revalidate`, and `stale-while-revalidate` and
/// `stale-if-error` (RFC 5861) are obeyed. `private` responses may be stored; `s-maxage` is ignored, because it is for shared caches. The
/// cache handles a 304 to its own validation: the caller sees the stored response. `HTTPResponse.source` indicates whether a response came
/// from the cache, and whether it was stale. At most eight variants of a URL are stored for each credential.
///
/// **Request directives.** `Cache-Control` of a request may contain `no-cache`, `no-store`, `max-age`, `min-fresh`, `max-stale`,
/// `stale-if-error` and `only-if-cached`, which fails with `NessError.Kind.notCached` if no response is stored. A request with a method
/// other than GET, HEAD, QUERY, OPTIONS and TRACE removes the stored responses for its URL, unless the server rejects the request.
///
/// **Users.** Each user has separate responses, so no user sees another user's. Requests belong to one user if the `Authentication` gives
/// them the same `userIdentifier`, or else if they carry the same credential. Client certificate, proxy, socket and the options for loaders
/// must be equal as well: see `RequestOptionKey`. A request to which loaders were added at `.exchange` bypasses the cache.
/// A `CookieJar` counts as one user: see `UserCookies`. With a `userIdentifier`, the responses stay available after the credential was
/// renewed. If the credential cannot be renewed because the network is down, the cache serves the user's fresh responses, and stale ones
/// that `stale-if-error` allows.
///
/// **Storage.** The storage finds records by digests. A record contains header fields and body in plain form, but no `Set-Cookie`.
/// Responses with another secret header field stay in memory. No error of the storage fails a request: see `CacheStorage`.
///
/// `Ness.reset()` empties the cache, including its storage. Managers may share a cache; a reset of one manager empties it for all.
public final class HTTPCache: Sendable {
    /// A fetch whose response may be stored. A response that was invalidated during its fetch must not be stored afterwards.
    struct Fetch: Hashable, Sendable {
        fileprivate let number: Int
    }

    /// The change of a response's record in the storage. A record that already contains the response is kept.
    enum RecordChange: Sendable { case write, keep, remove }

    /// A manager that uses the cache.
    private struct Sharer: Sendable {
        weak var manager: (any AnyObject & Sendable)?
        let closeReads: @Sendable (_ target: ExactText) -> Void
    }

    private struct State: Sendable {
        /// The most bytes in memory.
        let memoryLimit: Int
        /// The responses with each key, newest first.
        var entries = CacheEntries<CacheKey, [CachedResponse]>()
        var lastFetch = 0
        /// The keys of the running fetches that may still store their responses.
        var fetches: [Fetch: CacheKey] = [:]

        /// Removes responses. Running fetches with keys that the closure accepts will not store their responses.
        mutating func forget(_ keys: [CacheKey], andFetches isForgotten: (CacheKey) -> Bool) {
            for key in keys { entries.remove(key) }
            fetches = fetches.filter { !isForgotten($0.value) }
        }

        /// Sets the responses with a key, unless its URL was invalidated since the fetch started.
        mutating func set(_ key: CacheKey, _ responses: [CachedResponse], _ fetch: Fetch) {
            guard fetches[fetch] != nil else { return }
            // The oldest variants are left out if all together are too large.
            var (responses, size) = (responses, responses.reduce(0) { $0 + $1.size })
            while size > memoryLimit { size -= responses.popLast()?.size ?? size }
            entries.remove(key)
            if !responses.isEmpty { entries.insert(key, responses, size: size) }
            _ = entries.evict(to: memoryLimit)
        }
    }

    private let state: Lock<State>
    private let sharers = Lock<[Sharer]>([])
    private let storage: GuardedStorage?
    /// The cookies that identify the user.
    let userCookies: UserCookies
    let wallClock: @Sendable () -> Date
    private let didStore: @Sendable () -> Void

    /// Makes a cache.
    /// - Parameters:
    ///   - memoryLimit: The largest size of the cache in memory, in bytes. The least recently used response is removed first.
    ///   - storage: Keeps the responses outside the process's memory. `nil` for a cache in memory only.
    ///   - storageTimeout: The longest time that a request waits for one call of the storage, on the manager's clock. A request that
    ///     reaches the server makes two calls: one that finds nothing, and one that stores the response.
    ///   - userCookies: The cookies that identify the user, beside the credential.
    public convenience init(
        memoryLimit: Int, storage: (any CacheStorage)? = nil, storageTimeout: Duration = .seconds(1),
        userCookies: UserCookies = .setByRequest
    ) {
        self.init(
            memoryLimit: memoryLimit, storage: storage, storageTimeout: storageTimeout, userCookies: userCookies,
            wallClock: { Date() }, didStore: {})
    }

    /// Makes a cache for tests.
    /// - Parameters:
    ///   - wallClock: Returns the time of day. Called once for each manager, whose clock counts from there.
    ///   - didStore: Called after each stored response. Tests need it, because a background fetch has no other visible effect.
    package init(
        memoryLimit: Int, storage: (any CacheStorage)?, storageTimeout: Duration = .seconds(1),
        userCookies: UserCookies = .setByRequest, wallClock: @escaping @Sendable () -> Date, didStore: @escaping @Sendable () -> Void
    ) {
        state = Lock(State(memoryLimit: max(0, memoryLimit)))
        self.storage = storage.map { GuardedStorage($0, timeout: storageTimeout) }
        self.userCookies = userCookies
        self.wallClock = wallClock
        self.didStore = didStore
    }

    /// The size of the cache in memory, in bytes: bodies, header fields, and 256 for each response.
    package var memorySize: Int { state.withLock { $0.entries.size } }

    /// Removes every response, in memory and in the storage. Responses that are being fetched at that time are not stored. Waits for the
    /// storage at most for the timeout. If the storage fails, the cache reads nothing from it until the removal has succeeded.
    public func removeAll() async { await removeAll(.realTime) }

    /// Removes a user's responses, for example when the user signs out. The user's responses that are being fetched at that time are not
    /// stored. If the storage fails: see `removeAll()`.
    /// - Parameter user: The value of `Authentication.userIdentifier`.
    public func removeAll(of user: String) async {
        let user = ExactText(user)
        if user.text.isEmpty { return }
        await remove(.user(user), .realTime) {
            $0.forget($0.entries.keys.filter { $0.user == user }) { $0.user == user }
        }
    }

    /// Removes responses from memory, from the storage, and from memory again: a request may have read a record before the storage removed
    /// it.
    private func remove(
        _ removal: @autoclosure () -> GuardedStorage.Removal?, _ clock: PipelineClock, _ forget: @Sendable (inout State) -> Void
    ) async {
        state.withLock(forget)
        guard let storage, let removal = removal() else { return }
        await storage.remove(removal, clock)
        state.withLock(forget)
    }

    // MARK: for the pipeline

    /// Registers a fetch whose response may be stored. Not inlined for the reason that `CacheStep` gives.
    @inline(never)
    func beginFetch(_ key: CacheKey) -> Fetch {
        state.withLock { state in
            state.lastFetch += 1
            let fetch = Fetch(number: state.lastFetch)
            state.fetches[fetch] = key
            return fetch
        }
    }

    @inline(never)
    func endFetch(_ fetch: Fetch) { state.withLock { $0.fetches[fetch] = nil } }

    var hasStorage: Bool { storage != nil }

    /// Finds the stored responses for a request in memory.
    func find(_ key: CacheKey, _ request: HTTPRequest) -> CacheMatch {
        CacheMatch(among: state.withLock { $0.entries.use(key) } ?? [], for: request)
    }

    /// Finds the stored responses for a request in the storage and in memory, and puts them into memory.
    func findInStorage(_ key: CacheKey, _ request: HTTPRequest, _ fetch: Fetch, _ clock: PipelineClock) async -> CacheMatch {
        guard let storage, let digests = key.digests else { return find(key, request) }
        let read = await storage.responses(digests, clock)
        let all = state.withLock { state in
            // A response in memory is the newer one, or was not written to the storage.
            let all = (state.entries.use(key) ?? []).reversed().reduce(read) { $0.adding($1) }
            state.set(key, all, fetch)
            return all
        }
        return CacheMatch(among: all, for: request)
    }

    /// Stores a response and replaces an older one, unless the target was invalidated since the fetch started.
    func store(_ response: CachedResponse, _ key: CacheKey, _ fetch: Fetch, _ clock: PipelineClock, record: RecordChange) async {
        state.withLock { $0.set(key, ($0.entries.use(key) ?? []).adding(response), fetch) }
        if let digests = key.digests {
            switch record {
            case .write: await storage?.write(response, digests, clock) { [self] in state.withLock { $0.fetches[fetch] != nil } }
            case .keep: break
            case .remove: await storage?.remove(.record(digests), clock)
            }
        }
        didStore()
    }

    /// Removes every response: see `removeAll()`.
    func removeAll(_ clock: PipelineClock) async {
        await remove(.all, clock) { state in
            state.entries = CacheEntries()
            state.fetches = [:]
        }
    }

    /// Removes every response with a key. Running fetches of the URL for other users are not stored either: for them as well, the resource
    /// may have changed.
    func remove(_ key: CacheKey, _ clock: PipelineClock) async {
        await remove(key.digests.map { .record($0) }, clock) {
            $0.forget([key]) { $0.url == key.url }
        }
    }

    /// Adds a manager. After another manager has written to a URL, this manager's new reads of the URL join no read that started before.
    /// - Parameters:
    ///   - manager: An object that lives as long as the manager. It is not retained.
    ///   - closeReads: Closes the reads of a URL in flight to new callers. Must not retain the object.
    func add(_ manager: any AnyObject & Sendable, _ closeReads: @escaping @Sendable (_ target: ExactText) -> Void) {
        sharers.withLock { sharers in
            sharers.removeAll { $0.manager == nil }
            sharers.append(Sharer(manager: manager, closeReads: closeReads))
        }
    }

    /// Removes every response to a target, for all credentials.
    func invalidate(_ url: ExactText, _ clock: PipelineClock) async {
        // Otherwise a later read of another manager could join an older exchange, and store its outdated response.
        for sharer in sharers.withLock({ $0 }) { sharer.closeReads(url) }
        await remove(.url(CacheKey.digest(ofURL: url)), clock) {
            $0.forget($0.entries.keys(of: url)) { $0.url == url }
        }
    }
}
