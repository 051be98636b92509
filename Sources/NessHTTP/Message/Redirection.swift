import Foundation

/// What to do with redirects. Set for a manager or for one request.
public enum RedirectPolicy: Sendable {
    /// Follow up to `limit` of them in a row.
    case follow(limit: Int = 20)
    /// Give the redirect itself as the response.
    case stop
    /// Ask, for each one that could be followed. The closure runs off the main thread.
    case decide(limit: Int = 20, @Sendable (Redirection) async -> RedirectDecision)
}

extension RedirectPolicy {
    /// Compares all but the closure of a decision.
    func isSame(as other: RedirectPolicy) -> Bool {
        switch (self, other) {
        case (.follow(let mine), .follow(let theirs)), (.decide(let mine, _), .decide(let theirs, _)): mine == theirs
        case (.stop, .stop): true
        default: false
        }
    }
}

/// What to do with one redirect.
public enum RedirectDecision: Sendable {
    /// Follow it.
    case follow
    /// Send this request instead.
    case send(HTTPRequest)
    /// Give the redirect itself as the response.
    case stop
}

/// One redirect: what came, and what would be sent next (RFC 9110, 15.4).
public struct Redirection: Sendable {
    /// The response that redirects.
    public let response: HTTPResponse
    /// The request that would follow it, without what must not cross an origin.
    public let request: HTTPRequest
    /// How many redirects were followed before.
    public let count: Int
}

extension HTTPResponse {
    /// The request that follows this redirect; nil if this is none, or one without a Location that can be read.
    /// - Parameter scope: The base URL that a credential in the request is for; nil if the manager added none.
    ///
    /// - 303 becomes GET (HEAD stays), as does a POST that meets 301 or 302; a body goes with its header fields. Every other method
    ///   is kept, with its body.
    /// - The Location is resolved by RFC 3986 against the URL that was asked.
    /// - Another origin (scheme, host or port), and what is outside the base URL that a manager's credential is for, gets no Authorization, Cookie, Proxy-Authorization or Host, and no field that is
    ///   secret by `SecretNames`.
    package func redirectRequest(keepingCredentialInside scope: URL? = nil) -> HTTPRequest? {
        guard [301, 302, 303, 307, 308].contains(statusCode), let location = headers.values(for: HeaderName.location).first,
            let target = Self.resolve(location, against: request.url)
        else { return nil }
        var next = request
        next.url = target
        let becomesGet = statusCode == 303 ? request.method != .head : request.method == .post && statusCode <= 302
        if becomesGet {
            next.method = .get
            next.body = nil
            for name in next.headers.map(\.name)
            where name.lowercased().hasPrefix("content-") || contentFields.contains(where: name.equalsIgnoringCase) {
                next.headers.remove(name)
            }
        }
        if !target.hasSameOrigin(as: request.url) || scope?.contains(target) == false {
            for name in next.headers.map(\.name) where name.equalsIgnoringCase(HeaderName.host) || next.secrets.containsHeader(name) {
                next.headers.remove(name)
            }
            for name in next.body?.headers.map(\.name) ?? [] where next.secrets.containsHeader(name) { next.body?.headers.remove(name) }
        }
        return next
    }

    /// What describes the content besides `Content-*`.
    private var contentFields: [String] { [HeaderName.digest, HeaderName.lastModified] }

    private static func resolve(_ location: String, against base: URL) -> URL? {
        let location = location.trimmingCharacters(in: .whitespaces)
        guard !location.isEmpty, !location.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) else { return nil }
        guard let url = URL(string: location, relativeTo: base)?.absoluteURL.removingDotSegments else { return nil }
        // What has no host is refused where schemes are; only http without a host leads nowhere.
        return url.host?.isEmpty != false && ["http", "https"].contains(url.scheme?.lowercased()) ? nil : url
    }
}
