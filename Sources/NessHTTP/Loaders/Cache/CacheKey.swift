import Foundation

/// The key of stored responses: the target, and the credential that the request carried. Memory is searched by their text. In a folder the
/// key has their digests, because they may be secret.
struct CacheKey: Sendable, Hashable {
    /// The URL in its normal form, or its digest.
    let url: String
    /// All secret header fields, or a digest of the URL and the fields. Empty without secret fields. It keeps the responses of different
    /// users apart.
    let credential: String

    init(url: String, credential: String) {
        self.url = url
        self.credential = credential
    }

    /// Makes the key of a request that already carries its credentials.
    init(_ request: HTTPRequest) {
        url = request.normalizedURL
        var credential = ""
        for field in request.headers where request.secrets.containsHeader(field.name) {
            // With its length, so that no value can look like two fields.
            credential += "\(field.name.lowercased()) \(field.value.utf8.count) \(field.value) "
        }
        self.credential = credential
    }

    /// The digests. That of the credential includes the URL, so that one credential has a different digest for each URL.
    var hashed: CacheKey {
        let url = Self.digest(ofURL: url)
        return CacheKey(url: url, credential: credential.isEmpty ? "" : SHA256Hash.hex(of: [url, credential]))
    }

    /// Computes the digest of a URL.
    static func digest(ofURL url: String) -> String { SHA256Hash.hex(of: [url]) }
}

extension CacheKey: RedactedValue {
    /// Only the type: the credential is secret.
    var description: String { "CacheKey" }
}

extension HTTPRequest {
    /// The digest of this request's fields that a response's `Vary` names (RFC 9111, 4.1). Empty if it names none; `nil` for `*`, which no
    /// request matches.
    func cacheVariant(by headers: HTTPHeaders) -> String? {
        let names = Set(headers.members(of: HeaderName.vary).map { $0.lowercased() })
        if names.isEmpty { return "" }
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
}
