import Foundation
import NessPromise

/// A private HTTP cache (RFC 9111): in memory, and in a folder as well if it is given one.
///
/// ```swift
/// let ness = Ness { $0.cache = HTTPCache(memoryLimit: 10 << 20) }
/// ```
///
/// What is stored: whole responses to GET, of data requests without a body. Nothing is guessed: a response is used without asking the server
/// only for the time that its `max-age` or `Expires` allows. Failures are stored for that time as well, but not redirects, nor statuses that
/// speak of who asks or of one request (401, 403, 407, 412, 429 and others); another attempt of a request is never answered by a stored failure.
/// Without such a time, what has status 200, 203 or 204 and an `ETag` or `Last-Modified` is kept to be asked about; JSON and responses to
/// requests with a credential are not kept at all then.
///
/// A request with `If-None-Match`, `If-Modified-Since` or a `Range` of one span is answered from a fresh response: with 304, 206 or the whole.
/// Where there is none, it goes to the server as it is. `If-Match` and `If-Unmodified-Since` always go to the server.
///
/// `Vary`, `no-store`, `must-understand`, `no-cache`, `must-revalidate`, and `stale-while-revalidate` and `stale-if-error` (RFC 5861) have their meaning;
/// `private` may be kept, and `s-maxage` is for other caches. A 304 is handled inside: the caller sees the stored response.
/// `HTTPResponse.source` tells where a response came from. A request can say `no-cache`, `no-store`, `max-age`, `min-fresh`, `max-stale`,
/// `stale-if-error` and `only-if-cached` (504 where nothing is stored) in `Cache-Control`. A request with another method
/// than GET, HEAD, OPTIONS and TRACE removes what is stored for its URL, unless the server refuses it.
///
/// Each credential has its own responses: nobody sees another user's.
///
/// Files are named by digests and hold header fields and body as they came; those with a secret header field, such as `Set-Cookie`, stay in
/// memory. A file that is torn, changed or not the cache's own counts as missing. What can't be written is not stored. A
/// folder is for one cache at a time.
///
/// `Ness.reset()` empties it, the folder too. Managers may share one; a reset of either empties it for both.
public final class HTTPCache: Sendable {
    private struct State: Sendable {
        /// By target, so that a target can be forgotten as one.
        var responses: [String: [CacheEntryName: CachedResponse]] = [:]
        var use = LeastRecentlyUsed<CacheEntryName>()
        var nextFetch = 0
        /// The targets of what is being got: what is forgotten meanwhile must not be stored after.
        var fetches: [Int: String] = [:]

        mutating func remove(_ name: CacheEntryName) {
            use.remove(name)
            responses[name.key.url]?[name] = nil
            if responses[name.key.url]?.isEmpty == true { responses[name.key.url] = nil }
        }
    }

    private let state = Lock(State())
    private let folder: CacheFolder?
    let wallClock: @Sendable () -> Date
    private let didStore: @Sendable () -> Void
    /// The most that it holds in memory, in bytes.
    package let memoryLimit: Int

    /// Makes a cache in memory.
    /// - Parameter memoryLimit: The most that it holds, in bytes; what was not used for longest goes first.
    public convenience init(memoryLimit: Int) { self.init(memoryLimit: memoryLimit, folder: nil, wallClock: { Date() }) }

    /// Makes a cache in memory and on disk.
    /// - Parameters:
    ///   - memoryLimit: The most that it holds in memory, in bytes.
    ///   - folder: Where its files are. Made where it is missing, readable by this user alone. Other files in it are left alone.
    ///   - diskLimit: The most that its files take, in bytes; what was not stored or read for longest goes first.
    public convenience init(memoryLimit: Int, folder: URL, diskLimit: Int) {
        self.init(memoryLimit: memoryLimit, folder: (folder, diskLimit), wallClock: { Date() })
    }

    /// Makes a cache.
    /// - Parameters:
    ///   - memoryLimit: The most that it holds in memory, in bytes.
    ///   - folder: Where its files are, and the most that they take.
    ///   - wallClock: The time of day. Asked once a manager, whose clock counts from there.
    ///   - didStore: Called when a response was stored: a background's is seen by nobody else.
    package init(
        memoryLimit: Int, folder: (url: URL, limit: Int)?, wallClock: @escaping @Sendable () -> Date,
        didStore: @escaping @Sendable () -> Void = {}
    ) {
        self.memoryLimit = max(0, memoryLimit)
        self.folder = folder.map { CacheFolder($0.url, limit: max(0, $0.limit)) }
        self.wallClock = wallClock
        self.didStore = didStore
    }

    /// How much it holds in memory, in bytes: bodies, header fields, and 256 for each response.
    package var memorySize: Int { state.withLock { $0.use.size } }

    /// How much its files take, in bytes; 0 without a folder.
    package func diskSize() async -> Int { await folder?.size ?? 0 }

    /// Forgets everything, in memory and on disk. What is on its way meanwhile is not stored.
    public func removeAll() async {
        state.withLock { state in
            state.responses = [:]
            state.use = LeastRecentlyUsed()
            state.fetches = [:]
        }
        await folder?.removeAll()
    }

    // MARK: what the pipeline does with it

    /// Notes that something is being got that may be stored. Returns its number.
    func beginFetch(_ url: String) -> Int {
        state.withLock { state in
            state.nextFetch += 1
            state.fetches[state.nextFetch] = url
            return state.nextFetch
        }
    }

    func endFetch(_ fetch: Int) { state.withLock { $0.fetches[fetch] = nil } }

    /// What is stored for a request.
    func find(_ key: CacheKey, _ request: HTTPRequest, _ fetch: Int) async -> CacheMatch {
        let (mine, found) = state.withLock { state in
            let mine = (state.responses[key.url] ?? [:]).filter { $0.key.key == key }.map(\.value)
            let found = CacheMatch(among: mine, for: request)
            if let response = found.response { state.use.touch(CacheEntryName(key: key, variant: response.variant)) }
            return (mine, found)
        }
        guard found.response == nil, let folder else { return found }
        let read = await folder.responses(key, for: request)
        let known = Set(mine.map(\.variant))
        let match = CacheMatch(among: mine + read.filter { !known.contains($0.variant) }, for: request)
        if let response = match.response { remember(response, key, fetch) }
        return match
    }

    /// Stores a response in place of the one before, unless it was to be forgotten meanwhile.
    func store(_ response: CachedResponse, _ key: CacheKey, _ fetch: Int, isSecret: Bool) async {
        remember(response, key, fetch)
        if isSecret {
            await remove(key, onDiskOnly: true)
        } else {
            await folder?.write(response, CacheEntryName(key: key, variant: response.variant)) { [self] in isWanted(fetch) }
        }
        didStore()
    }

    /// Forgets every response with a key.
    func remove(_ key: CacheKey, onDiskOnly: Bool = false) async {
        if !onDiskOnly {
            state.withLock { state in
                for name in state.responses[key.url]?.keys.filter({ $0.key == key }) ?? [] { state.remove(name) }
            }
        }
        await folder?.remove { $0.key == key }
    }

    /// Forgets every response to a target, whoever got it.
    func invalidate(_ url: String) async {
        state.withLock { state in
            for name in state.responses[url]?.keys.map({ $0 }) ?? [] { state.remove(name) }
            state.fetches = state.fetches.filter { $0.value != url }
        }
        await folder?.remove { $0.key.url == url }
    }

    private func isWanted(_ fetch: Int) -> Bool { state.withLock { $0.fetches[fetch] != nil } }

    private func remember(_ response: CachedResponse, _ key: CacheKey, _ fetch: Int) {
        state.withLock { state in
            guard state.fetches[fetch] != nil else { return }
            let name = CacheEntryName(key: key, variant: response.variant)
            state.remove(name)
            guard response.size <= memoryLimit else { return }
            state.responses[key.url, default: [:]][name] = response
            state.use.insert(name, size: response.size)
            for name in state.use.evict(to: memoryLimit) { state.remove(name) }
        }
    }
}
