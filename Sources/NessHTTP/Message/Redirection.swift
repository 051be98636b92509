import Foundation

/// The treatment of redirects, for a manager or for one request.
///
/// A redirect to another origin never carries credentials, cookies or secret header fields. A redirect with 307 or 308 does carry the
/// method and the body to another origin (RFC 9110, 15.4.8 and 15.4.9), and so does one with 301 or 302 for methods other than POST. To
/// keep a body from other origins, use `decide`, and return `.stop` for a request with a body whose origin differs.
public enum RedirectPolicy: Sendable {
    /// Follows redirects, at most `limit` in a row.
    case follow(limit: Int = 20)
    /// Follows none: the redirect itself is the response.
    case stop
    /// Asks a closure about each redirect that can be followed, for at most `limit` redirects. The closure runs off the main thread.
    case decide(limit: Int = 20, @Sendable (Redirection) async -> RedirectDecision)
}

extension RedirectPolicy {
    /// True if a closure of the application is awaited, which may ignore a cancellation.
    var asksApplication: Bool { if case .decide = self { true } else { false } }
}

/// The decision about one redirect.
public enum RedirectDecision: Sendable {
    /// Follows the redirect.
    case follow
    /// Sends this request instead of the one that the redirect asks for.
    case send(HTTPRequest)
    /// Does not follow: the redirect itself is the response.
    case stop
}

/// One redirect: the response, and the request that follows it (RFC 9110, section 15.4).
public struct Redirection: Sendable {
    /// The redirect.
    public let response: HTTPResponse
    /// The request that follows. For another origin it lacks credentials, cookies and secret fields. After 307 and 308 it has the method
    /// and the body of the request before it, for any origin.
    public let request: HTTPRequest
    /// The number of redirects followed before this one.
    public let count: Int
}

extension HTTPResponse {
    /// The `Location` field as an absolute URL, resolved against the request's URL (RFC 9110, section 10.2.2). After a 201 it is the URL of
    /// the created resource, and after a 202 often the URL of a status page. `nil` if the field is missing or invalid.
    ///
    /// ```swift
    /// let created = try await ness.post("users").set(jsonEncodable: user)
    ///     .response()
    /// if let location = created.location { print(location) }
    /// ```
    ///
    /// The server chooses the URL, and it may name another host or scheme. For the target of a redirect, see `redirectURL`.
    public var location: URL? {
        headers.values(for: HeaderName.location).first.flatMap { Self.resolve($0, against: request.url) }
    }

    /// The URL to which this redirect leads: its `Location`, resolved against the request's URL (RFC 3986, section 5), with the fragment of
    /// `url` unless it has its own. `nil` if the status is not 301, 302, 303, 307 or 308, or if there is no valid `Location`.
    ///
    /// A response is a redirect only if it was not followed: see `RedirectPolicy` and `history`.
    public var redirectURL: URL? { redirectRequest()?.url }

    /// Makes the request that follows this redirect.
    ///
    /// - 303 turns any method except HEAD into GET. 301 and 302 turn POST into GET. Such a request loses its body and the fields that
    ///   describe it. Every other method keeps its body, and 307 and 308 keep method and body, for any origin.
    /// - `Location` is resolved against the request's URL by RFC 3986. It inherits the fragment of that URL if it has none.
    /// - `Authorization`, `Cookie`, `Proxy-Authorization`, `Host` and every field that is secret by `Ness.Configuration.secretNames` are
    ///   removed if the target has another origin (scheme, host or port), or lies outside `scope`.
    /// - Parameter scope: The base URL for which the manager's credential is valid; `nil` if the manager added no credential.
    /// - Returns: The request; `nil` if this is not a redirect, or has no valid `Location`.
    package func redirectRequest(keepingCredentialInside scope: URL? = nil) -> HTTPRequest? {
        guard [301, 302, 303, 307, 308].contains(statusCode), let target = location else { return nil }
        let named = target.encodedFragment.map { URLFragment(text: $0, isOfRedirect: true) }, fragment = named ?? request.fragmentOfURL
        var next = request
        next.url = target.adding(fragment)
        next.fragment = fragment
        next.body = next.body?.withUnresolvedFiles
        let becomesGet = statusCode == 303 ? request.method != .head : request.method == .post && statusCode <= 302
        if becomesGet {
            next.method = .get
            next.body = nil
            next.headers.removeContentFields()
        }
        if !target.hasSameOrigin(as: request.url) || scope?.contains(target) == false { next.removeSecrets() }
        return next
    }

    static func resolve(_ location: String, against base: URL) -> URL? {
        let location = location.trimmingCharacters(in: .whitespaces)
        guard !location.isEmpty, !location.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) else { return nil }
        guard let url = URL(string: location.percentEncodedWhereNeeded, relativeTo: base)?.absoluteURL.removingDotSegments else {
            return nil
        }
        // The check of schemes rejects a URL of another scheme. This check rejects an http URL without a host.
        return url.host?.isEmpty != false && ["http", "https"].contains(url.scheme?.lowercased()) ? nil : url
    }
}

extension HTTPHeaders {
    /// Removes the fields that describe the content.
    mutating func removeContentFields() {
        let others = [HeaderName.digest, HeaderName.lastModified]
        for name in map(\.name) where name.lowercased().hasPrefix("content-") || others.contains(where: name.equalsIgnoringCase) {
            remove(name)
        }
    }
}

extension HTTPRequest {
    /// Removes the fields that must not reach another origin: `Host` and every secret field.
    mutating func removeSecrets() {
        for name in headers.map(\.name) where name.equalsIgnoringCase(HeaderName.host) || secrets.containsHeader(name) {
            headers.remove(name)
        }
        for name in body?.headers.map(\.name) ?? [] where secrets.containsHeader(name) { body?.headers.remove(name) }
    }
}
