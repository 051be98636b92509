import Foundation

/// The key of stored responses: the URL, the user on whose behalf the request is sent, and the request's options. Memory is searched by
/// their text. A storage receives only digests of them, because they may be secret.
struct CacheKey: Sendable, Hashable {
    /// The URL in its normal form.
    let url: ExactText
    /// The user's stable name. Empty if the authentication gives none.
    let user: ExactText
    /// The secret header fields that the user's name does not represent, and the route to the server. Empty without any.
    let credential: ExactText
    /// The settings and options on which the response may depend.
    let distinction: RequestDistinction
}

extension CacheKey {
    /// Makes the key of a request; `nil` for a request that nothing can be compared with.
    /// - Parameters:
    ///   - request: The request.
    ///   - user: The user whose credential could not be added to the request; `nil` if the request carries its credentials.
    ///   - route: The route to the server: see `Wire.route(of:)`.
    ///   - userCookies: The cookies that identify the user.
    ///   - jar: Tells which part of the `Cookie` field the request has set itself. `nil` if it has set all of the field.
    ///   - distinction: The settings and options on which the response may depend; `nil` for those of the request.
    init?(
        _ request: HTTPRequest, of user: String? = nil, over route: String, by userCookies: HTTPCache.UserCookies, besides jar: JarCookies?,
        distinction: RequestDistinction? = nil
    ) {
        guard let distinction = distinction ?? RequestDistinction(request)?.ofStoredResponse else { return nil }
        self.distinction = distinction
        let sender = request.authenticatedUser, replaced = sender?.fields ?? []
        url = ExactText(request.normalizedURL)
        self.user = ExactText(user ?? sender?.name ?? "")
        var credential = route
        for field in request.headers where request.secrets.containsHeader(field.name) && !replaced.contains(field) {
            var value = field.value
            if field.name.equalsIgnoringCase(HeaderName.cookie) {
                guard let part = userCookies.part(of: value, besides: jar, isUserNamed: !self.user.text.isEmpty) else { continue }
                value = part
            }
            // With its length, so that no value can look like two fields.
            credential += "\(field.name.asciiLowercased) \(value.utf8.count) \(value) "
        }
        self.credential = ExactText(credential)
    }

    /// The key in a storage; `nil` for a request whose options cannot be encoded. The digests of the user and of the credential include the
    /// URL, so that one user has a different digest for each URL.
    var digests: CacheStorageKey? {
        guard let distinction = distinction.text else { return nil }
        let urlDigest = Self.digest(ofURL: url)
        let parts = distinction.isEmpty ? [credential.text] : [credential.text, distinction]
        let isPlain = credential.text.isEmpty && distinction.isEmpty
        let credentialDigest = isPlain ? "" : SHA256Hash.hex(of: [url.text] + parts)
        return CacheStorageKey(url: urlDigest, credential: credentialDigest, user: Self.digest(of: user, urlDigest: urlDigest))
    }

    /// Computes the digest of a URL.
    static func digest(ofURL url: ExactText) -> String { SHA256Hash.hex(of: [url.text]) }

    /// Computes the digest of a user's name.
    /// - Parameter urlDigest: The digest of the URL.
    static func digest(of user: ExactText, urlDigest: String) -> String {
        user.text.isEmpty ? "" : SHA256Hash.hex(of: [urlDigest, "user", user.text])
    }
}

extension CacheKey: RedactedValue {
    /// Only the type: the credential is secret.
    var redactedDescription: String { "CacheKey" }
}

extension HTTPRequest {
    /// The digest of this request's fields that a response's `Vary` names (RFC 9111, 4.1). Empty if it names none; `nil` for `*`, which no
    /// request matches. A field that an authentication with a stable name added does not count: the key stands for it.
    func cacheVariant(varyingBy responseHeaders: HTTPHeaders) -> String? {
        let names = Set(responseHeaders.members(of: HeaderName.vary).map { ExactText($0.asciiLowercased) })
        if names.isEmpty { return "" }
        if names.contains(ExactText("*")) { return nil }
        var sent = headers
        for field in authenticatedUser?.fields ?? [] { sent.remove(field.name) }
        let parts = names.sorted().flatMap { name in
            // Only the list members count. White space between them does not.
            var members = sent.members(of: name.text)
            if name == Self.userAgent, !sent.contains(name.text) { members = [HTTPHeaders.defaultUserAgent] }
            // An absent field is another variant than an empty one.
            return [name.text, members.isEmpty && !sent.contains(name.text) ? "absent" : "\(members.count)"] + members
        }
        return SHA256Hash.hex(of: parts)
    }

    private static let userAgent = ExactText(HeaderName.userAgent.asciiLowercased)
}
