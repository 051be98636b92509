/// Sends requests through the steps below the cache, and tells the cache about the call that they belong to.
protocol Upstream: Sendable {
    /// The number of the call's attempt, counted from 1.
    var attempt: Int { get }
    /// Tells which part of the `Cookie` field the request has set itself. `nil` if it has set all of the field.
    var cookies: JarCookies? { get }
    /// True if the response is kept in memory, and may be shared with equal requests.
    var isCacheable: Bool { get }
    /// True if the caller named the request's identity (`duplicateIdentifier`). A shared response may then be for
    /// a request with other header fields.
    var hasDuplicateIdentifier: Bool { get }

    /// Returns the route of a request to the server. A server may distinguish users by it.
    func route(of request: HTTPRequest) -> String
    /// Sends a request.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse
    /// Sends a request whose failure a stored response can replace. Fails at the call's deadline, so that the caller gets that response.
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
