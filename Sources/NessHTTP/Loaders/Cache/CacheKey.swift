import Foundation

/// The key of stored responses: the target, and the credential that the request carried. Both may be secret, so the key holds digests of
/// them.
struct CacheKey: Sendable, Hashable {
    /// The digest of the target.
    let url: String
    /// The digest of the target and of all secret header fields. It keeps the responses of different users apart.
    let credential: String

    /// Makes the key of a request that already carries its credentials.
    init(_ request: HTTPRequest) {
        url = Self.digest(of: request.url)
        // The digest includes the target, so that one credential has a different digest for each target.
        var parts = [url]
        for field in request.headers where request.secrets.containsHeader(field.name) { parts += [field.name.lowercased(), field.value] }
        credential = SHA256Hash.hex(of: parts)
    }

    /// Makes a key from known digests.
    init(url: String, credential: String) {
        self.url = url
        self.credential = credential
    }

    /// Computes the digest of a target.
    static func digest(of url: URL) -> String { SHA256Hash.hex(of: [RequestIdentity.normalized(url)]) }
}

/// The name of one stored response. Responses with the same key differ in the request fields that their `Vary` names.
struct CacheEntryName: Sendable, Hashable {
    let key: CacheKey
    let variant: String
}

extension HTTPRequest {
    /// The digest of this request's fields that a response's `Vary` names (RFC 9111, 4.1). `nil` for `*`, which no request matches.
    func cacheVariant(by headers: HTTPHeaders) -> String? {
        let names = Set(headers.members(of: HeaderName.vary).map { $0.lowercased() })
        if names.isEmpty { return Self.onlyVariant }
        if names.contains("*") { return nil }
        let parts = names.sorted().flatMap { name in
            // Only the list members count. White space between them does not.
            var members = self.headers.members(of: name)
            if name == Self.userAgent, !self.headers.contains(name) { members = [HTTPHeaders.defaultUserAgent] }
            return [name, "\(members.count)"] + members
        }
        return SHA256Hash.hex(of: parts)
    }

    private static let userAgent = HeaderName.userAgent.lowercased()

    /// The digest for a response without `Vary`, the most frequent one.
    private static let onlyVariant = SHA256Hash.hex(of: [])
}
