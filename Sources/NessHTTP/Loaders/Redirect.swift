import Foundation

/// Follows redirects, so that no transport has to, and the same rules apply to every transport.
struct Redirect: HTTPLoader {
    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        var request = request
        var count = 0
        var last: HTTPResponse?
        var history: [HTTPResponse] = []
        while true {
            next.context.sink?.willTakeBody(after: history)
            var response: HTTPResponse
            do {
                response = try await next(request, in: next.context.replacing(by: request))
            } catch {
                throw explain(error, after: last)
            }
            if !history.isEmpty { response.history = history }
            last = response
            guard let step = try await follow(response, count, by: request.redirects, next.context) else { return response }
            response.history = []
            history.append(response)
            request = step.request
            // The caller is responsible for a request that the caller's closure returned.
            if step.isDecided { last = nil }
            count += 1
        }
    }

    /// Returns the error of a request. If the request is invalid, the error is that of the redirect that led to it.
    @inline(never)
    private func explain(_ error: any Error, after redirect: HTTPResponse?) -> any Error {
        guard let redirect, let error = error as? NessError, error.kind == .invalidRequest else { return error }
        return failure(redirect, "the redirect leads to what can't be sent: \(error.context.reason)")
    }

    /// Returns the request to send next. `nil` if the response is final.
    private func follow(
        _ response: HTTPResponse, _ count: Int, by policy: RedirectPolicy, _ context: CallContext
    ) async throws -> (request: HTTPRequest, isDecided: Bool)? {
        guard let following = response.redirectRequest(keepingCredentialInside: context.credentialScope) else { return nil }
        let limit: Int
        var decided: HTTPRequest?
        switch policy {
        case .stop: return nil
        case .follow(let most): limit = most
        case .decide(let most, let decide):
            limit = most
            switch await decide(Redirection(response: response, request: following, count: count)) {
            case .stop: return nil
            case .follow: break
            case .send(let request): decided = request
            }
        }
        guard count < limit else { throw failure(response, "there were more than \(limit) redirects") }
        if let decided { return (decided, true) }
        guard let scheme = following.url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw failure(response, "the redirect leads to \(following.url.scheme ?? "no scheme"), not to http or https")
        }
        if scheme == "http", response.url.scheme?.lowercased() == "https", !following.allowsInsecureRedirects {
            throw failure(response, "the redirect leads from https to http")
        }
        return (following, false)
    }

    private func failure(_ response: HTTPResponse, _ reason: String) -> NessError {
        .redirect(NessError.Context(request: response.request, response: response, reason: reason))
    }
}
