import Foundation

/// The redirects that an exchange follows.
struct Redirects: Sendable {
    private let context: CallContext
    private var count = 0
    /// The redirects so far, oldest first.
    private(set) var history: [HTTPResponse] = []
    /// The redirect that led to the current request; `nil` if the caller's closure chose the request, and is responsible for it.
    private var last: HTTPResponse?
    private var following: HTTPRequest?

    init(_ context: CallContext) { self.context = context }

    /// Returns the request that follows the last redirect.
    func next(after request: HTTPRequest) -> HTTPRequest { following ?? request }

    /// Returns the error of a request. If the request is invalid, the error is that of the redirect that led to it.
    @inline(never)
    func explain(_ error: any Error) -> any Error {
        guard let last, let error = error as? NessError, error.kind == .invalidRequest else { return error }
        return failure(last, "the redirect leads to what can't be sent: \(error.context.reason)")
    }

    /// Finds the request to send after a response, and gives a final response its history.
    /// - Returns: False if the response is final.
    mutating func follow(_ response: inout HTTPResponse, by policy: RedirectPolicy) async throws -> Bool {
        guard let step = try await step(after: response, by: policy) else {
            if !history.isEmpty { response.history = history }
            return false
        }
        history.append(response)
        last = step.isDecided ? nil : response
        following = step.request
        count += 1
        return true
    }

    private func step(after response: HTTPResponse, by policy: RedirectPolicy) async throws -> (request: HTTPRequest, isDecided: Bool)? {
        guard let following = response.redirectRequest(keepingCredentialInside: context.credentialScope) else { return nil }
        let limit: Int
        var decided: HTTPRequest?
        switch policy {
        case .stop: return nil
        case .follow(let most): limit = most
        case .decide(let most, let decide):
            limit = most
            var shown = response
            if !history.isEmpty { shown.history = history }
            switch await decide(Redirection(response: shown, request: following, count: count)) {
            case .stop: return nil
            case .follow: break
            case .send(let request): decided = request
            }
        }
        guard count < limit else { throw failure(response, "there were more than \(limit) redirects") }
        if let decided { return (decided.inheriting(from: context.call.request), true) }
        guard let scheme = following.url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw failure(response, "the redirect leads to \(following.url.scheme ?? "no scheme"), not to http or https")
        }
        if scheme == "http", response.url.scheme?.lowercased() == "https", !following.allowsInsecureRedirects {
            throw failure(response, "the redirect leads from https to http")
        }
        return (following, false)
    }

    private func failure(_ response: HTTPResponse, _ reason: String) -> NessError {
        var response = response
        if !history.isEmpty { response.history = history }
        return .redirect(NessError.Context(request: response.request, response: response, reason: reason))
    }
}
