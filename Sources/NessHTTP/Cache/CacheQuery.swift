/// A request that the cache may serve, and the responses that are stored for it.
final class CacheQuery: Sendable {
    let request: HTTPRequest
    let key: CacheKey
    let directives: CacheControl
    let stored: CacheMatch
    let upstream: any Upstream

    init(_ request: HTTPRequest, _ key: CacheKey, _ directives: CacheControl, _ stored: CacheMatch, _ upstream: any Upstream) {
        self.request = request
        self.key = key
        self.directives = directives
        // A retry must not get a stored failure.
        self.stored = stored.usable(inAttempt: upstream.attempt)
        self.upstream = upstream
    }

    /// Returns the same query with other stored responses.
    func with(_ stored: CacheMatch) -> CacheQuery { CacheQuery(request, key, directives, stored, upstream) }
}
