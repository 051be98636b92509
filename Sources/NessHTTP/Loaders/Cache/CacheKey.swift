import Foundation

/// Whose response to what: the target, and the credential that the request carried. Digests, as both may be secret.
struct CacheKey: Sendable, Hashable {
    /// Stands for the target.
    let url: String
    /// Stands for every field of the request that is secret, so that no user is given what another was.
    let credential: String

    /// The key of a request, as it is after authentication.
    init(_ request: HTTPRequest) {
        url = Self.digest(of: request.url)
        let secret = request.headers.filter { request.secrets.containsHeader($0.name) }
        // With the target in it, one credential has another digest at each.
        credential = SHA256Hash.hex(of: [url] + secret.flatMap { [$0.name.lowercased(), $0.value] })
    }

    /// A key whose parts are known.
    init(url: String, credential: String) {
        self.url = url
        self.credential = credential
    }

    /// What stands for a target.
    static func digest(of url: URL) -> String { SHA256Hash.hex(of: [RequestIdentity.normalized(url)]) }
}

/// One stored response among those with a key: the fields of the request that its `Vary` names make the difference.
struct CacheEntryName: Sendable, Hashable {
    let key: CacheKey
    let variant: String
}

extension HTTPRequest {
    /// What stands for the fields of this request that a response's `Vary` names (RFC 9111, 4.1); nil for `*`, which no request matches.
    func cacheVariant(by headers: HTTPHeaders) -> String? {
        let names = Set(headers.members(of: HeaderName.vary).map { $0.lowercased() })
        if names.contains("*") { return nil }
        let parts = names.sorted().flatMap { name in
            // Members count, not the white space between them.
            let members = self.headers.members(of: name)
            return [name, "\(members.count)"] + members
        }
        return SHA256Hash.hex(of: parts)
    }
}
