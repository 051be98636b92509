/// Sends requests through the steps below the cache, and tells the cache about the call that they belong to.
protocol Upstream: Sendable {
    /// The number of the call's attempt, counted from 1.
    var attempt: Int { get }
    /// Tells which part of the `Cookie` field the request has set itself. `nil` if it has set all of the field.
    var cookies: JarCookies? { get }
    /// True if the response is kept in memory, and may be shared with equal requests.
    var isCacheable: Bool { get }
    /// True if requests that the caller declares equal may differ.
    var hasDuplicateIdentifier: Bool { get }

    /// Returns the route of a request to the server. A server may distinguish users by it.
    func route(of request: HTTPRequest) -> String
    /// Sends a request.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse
    /// Sends a request for which there is a replacement, until the deadline of the call.
    func sendUntilDeadline(_ operation: @escaping @Sendable () async throws -> HTTPResponse) async throws -> HTTPResponse
    /// Sends a request in the background, without the caller's policies and events. A reset ends it.
    /// - Parameters:
    ///   - request: The request.
    ///   - operation: Sends the request. Its second parameter throws if the request must not be sent any more.
    func inBackground(
        _ request: HTTPRequest, _ operation: @escaping @Sendable (any Upstream, _ begin: () throws -> Void) async throws -> HTTPResponse)
    /// Makes an error of the request.
    func error(_ kind: NessError.Kind, _ reason: String) -> NessError
}

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
        self.stored = stored.usable(inAttempt: upstream.attempt)
        self.upstream = upstream
    }

    /// Returns the same query with other stored responses.
    func with(_ stored: CacheMatch) -> CacheQuery { CacheQuery(request, key, directives, stored, upstream) }
}
