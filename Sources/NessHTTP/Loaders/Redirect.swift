import Foundation

/// Follows redirects, so that no transport has to and every one of them is followed by the same rules.
struct Redirect: HTTPLoader {
    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        var request = request
        var count = 0
        while true {
            let response = try await next(request)
            guard let following = try await follow(response, count, by: request.redirects) else { return response }
            request = following
            count += 1
        }
    }

    /// The request to send next; nil where the response stands.
    private func follow(_ response: HTTPResponse, _ count: Int, by policy: RedirectPolicy) async throws -> HTTPRequest? {
        guard let following = response.redirectRequest else { return nil }
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
        if let decided { return decided }
        guard let scheme = following.url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw failure(response, "the redirect leads to \(following.url.scheme ?? "no scheme"), not to http or https")
        }
        if scheme == "http", response.url.scheme?.lowercased() == "https", !following.allowsInsecureRedirects {
            throw failure(response, "the redirect leads from https to http")
        }
        return following
    }

    private func failure(_ response: HTTPResponse, _ reason: String) -> NessError {
        .redirect(NessError.Context(request: response.request, response: response, reason: reason))
    }
}
