import Foundation

/// The redirects that a flight has followed.
struct RedirectHistory: Sendable {
    /// The most bytes that are received of the body of a redirect that is followed, and that `HTTPResponse.history` keeps.
    static let bodyLimit = 64 << 10

    private struct Fields: Sendable {
        var history: [HTTPResponse] = []
        var byteCount = 0
        var last: HTTPResponse?
    }

    // A box, because a waiting request keeps the frame that the history is in. `nil` before the first redirect.
    private var box: CopyOnWriteBox<Fields>?

    /// The redirects so far, oldest first, each with the start of its body.
    var history: [HTTPResponse] { box?.fields.history ?? [] }
    /// The number of received bytes in their bodies.
    var byteCount: Int { box?.fields.byteCount ?? 0 }
    /// The redirect that led to the current request; `nil` if the caller's closure chose the request, and is responsible for it.
    private var last: HTTPResponse? { box?.fields.last }

    /// Returns the error of a request. If the request is invalid, the error is that of the redirect that led to it.
    @inline(never)
    func attributed(_ error: any Error) -> any Error {
        guard let last, let error = error as? NessError, error.kind == .invalidRequest else { return error }
        return failure(.redirect, last, "the redirect's target can't be requested: \(error.context.reason)")
    }

    /// Returns the request that a redirect asks for; `nil` if the response is not a redirect.
    /// - Parameters:
    ///   - response: The response.
    ///   - scope: The base URL for which the manager's credential is valid; `nil` if the manager added no credential.
    ///   - environment: The environment of the caller's request.
    @inline(never)
    static func following(
        _ response: HTTPResponse, keepingCredentialInside scope: URL?, in environment: ServerEnvironment
    ) -> HTTPRequest? {
        guard var request = response.redirectRequest(keepingCredentialInside: scope) else { return nil }
        if environment.contains(response.request) { environment.removeStrayed(environment.defaultHeaders, from: &request) }
        request.removeCacheConditions()
        return request
    }

    /// Returns the final response with its history.
    /// - Throws: `NessError.Kind.truncated`, if a loader has turned a redirect into the final response.
    @inline(never)
    func ended(with response: HTTPResponse) throws -> HTTPResponse {
        if response.isCut { throw failure(.truncated, response, "the redirect's body was not received") }
        return withHistory(response)
    }

    private func withHistory(_ response: HTTPResponse) -> HTTPResponse {
        if history.isEmpty { return response }
        var response = response
        response.history = history
        return response
    }

    /// Decides on a redirect.
    /// - Parameters:
    ///   - response: The redirect.
    ///   - following: The request that it asks for.
    ///   - policy: The policy of the request that was redirected.
    ///   - caller: The request of the caller, whose options apply to all that follow.
    /// - Returns: The next request; `nil` if the redirect is not followed.
    @inline(never)
    mutating func follow(
        _ response: HTTPResponse, to following: HTTPRequest, by policy: RedirectPolicy, for caller: HTTPRequest
    ) async throws -> HTTPRequest? {
        guard let step = try await step(after: response, to: following, by: policy, for: caller) else { return nil }
        add(response, isDecided: step.isDecided)
        return step.request
    }

    @inline(never)
    private mutating func add(_ response: HTTPResponse, isDecided: Bool) {
        var fields = box?.fields ?? Fields()
        fields.byteCount += response.body.count
        var kept = response
        kept.body = Data(kept.body.prefix(Self.bodyLimit))
        fields.history.append(kept)
        fields.last = isDecided ? nil : response
        box = CopyOnWriteBox(fields)
    }

    @inline(never)
    private func step(
        after response: HTTPResponse, to following: HTTPRequest, by policy: RedirectPolicy, for caller: HTTPRequest
    ) async throws -> (request: HTTPRequest, isDecided: Bool)? {
        let limit: Int
        var decided: HTTPRequest?
        switch policy {
        case .stop: return nil
        case .follow(let most): limit = most
        case .decide(let most, let decide):
            limit = most
            switch await decide(Redirection(response: withHistory(response), request: following, count: history.count)) {
            case .stop: return nil
            case .follow: break
            case .send(let request): decided = request
            }
        }
        guard history.count < limit else { throw failure(.redirect, response, "more than \(limit) redirects") }
        if let decided { return (decided.inheriting(from: caller), true) }
        guard let scheme = following.url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw failure(.redirect, response, "the redirect leads to \(following.url.scheme ?? "no scheme"), not to http or https")
        }
        if scheme == "http", response.url.scheme?.lowercased() == "https", !following.settings.allowsInsecureRedirects {
            throw failure(.redirect, response, "the redirect leads from https to http")
        }
        return (following, false)
    }

    private func failure(_ kind: NessError.Kind, _ response: HTTPResponse, _ reason: String) -> NessError {
        let response = withHistory(response)
        return NessError(kind, NessError.Context(request: response.request, response: response, reason: reason))
    }
}
