import Foundation

/// The key of stored responses: the target, and the credential that the request carried. It is text, which memory is searched by; file names
/// have its digests.
struct CacheKey: Sendable, Hashable {
    /// The URL in its normal form.
    let url: String
    /// All secret header fields. They keep the responses of different users apart.
    let credential: String

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
}

extension CacheKey: CustomStringConvertible, CustomReflectable {
    /// Only the type: the credential is secret.
    var description: String { "CacheKey" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// The name of one stored response. Responses with the same key differ in the request fields that their `Vary` names.
struct CacheEntryName: Sendable, Hashable {
    let key: CacheKey
    let variant: String
}

/// The key of stored responses in a folder: digests, because the target and the credential may be secret.
struct CacheFileKey: Sendable, Hashable {
    /// The digest of the target.
    let url: String
    /// The digest of the target and of all secret header fields. It includes the target, so that one credential has a different digest for
    /// each target.
    let credential: String

    init(_ key: CacheKey) {
        url = Self.digest(ofURL: key.url)
        credential = SHA256Hash.hex(of: [url, key.credential])
    }

    /// Makes a key from known digests.
    init(url: String, credential: String) {
        self.url = url
        self.credential = credential
    }

    /// Computes the digest of a target.
    static func digest(ofURL url: String) -> String { SHA256Hash.hex(of: [url]) }
}

/// The name of one file.
struct CacheFileName: Sendable, Hashable {
    let key: CacheFileKey
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
