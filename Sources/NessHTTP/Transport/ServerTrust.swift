import Foundation

/// The servers that a manager trusts: see `Ness.Configuration.serverTrust`.
///
/// ```swift
/// let ness = Ness {
///     $0.serverTrust = .pinned(["*.example.com": .publicKeys([current, backup]), "cdn.example.com": .system])
/// }
/// ```
///
/// A host is a name, which stands for itself, or `*.` and a name, which stands for all names below it, at any depth, but not for the name
/// itself. `*` stands for all hosts. Of several entries the one with the longest name counts, and a host's own entry before all others.
///
/// A server of a pinned host needs a certificate that the system trusts, and one of the keys. The rule applies to each exchange, therefore
/// also after a redirect. Nothing is sent to another server: the request fails with `NessError.tls`, whose `tlsFailure` is
/// `TLSFailure.pinMismatch`. On Apple platforms a closure of `URLSessionTransport(configure:serverTrust:)` that answers `.trusted` takes the
/// place of the system. A request fails with `NessError.invalidRequest`, or after a redirect with `NessError.redirect`, before a connection is
/// opened, in these cases:
/// - It goes to a pinned host over http.
/// - There are rules, and its host has letters outside of ASCII that percent-encoding hid, which no rule can name.
/// - It goes to a pinned host, and the transport does not check keys (`Transport.checksPublicKeys`).
/// - An entry's host is not valid or stands twice, its list of keys is empty, or a key is not a SHA-256 hash in Base64. Then every request of the manager
///   fails, because the mistake may concern any host.
public struct ServerTrust: Sendable, Hashable {
    /// The condition for the servers of a host.
    public enum Rule: Sendable, Hashable {
        /// The certificate must be one that the system trusts.
        case system
        /// The certificate must also have one of these public keys.
        ///
        /// A key is the SHA-256 hash of its SubjectPublicKeyInfo in Base64 (RFC 7469, section 2.4), with or without `sha256//` before it.
        /// It is compared with the key of the server's own certificate, not of an authority's. Name a second key, whose certificate is not
        /// in use yet, so that the server can change its key.
        ///
        /// ```text
        /// openssl x509 -in server.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
        /// ```
        case publicKeys([String])
    }

    private let rules: [String: Rule]
    /// The mistake in the rules, if there is one.
    private let mistake: String?

    /// Every certificate that the system trusts is accepted.
    public static let system = ServerTrust(rules: [:], mistake: nil)

    /// Servers of some hosts must have certain public keys.
    /// - Parameter hosts: The rules by host. A host without a rule is treated as by `.system`.
    /// - Returns: The trust.
    public static func pinned(_ hosts: [String: Rule]) -> ServerTrust {
        do {
            return ServerTrust(rules: try checked(hosts), mistake: nil)
        } catch {
            return ServerTrust(rules: [:], mistake: "serverTrust: \(error)")
        }
    }

    private static func checked(_ hosts: [String: Rule]) throws -> [String: Rule] {
        var rules: [String: Rule] = [:]
        for (host, rule) in hosts {
            guard let name = pattern(host) else { throw InvalidRequest("the host \(host.debugDescription) is not valid") }
            guard rules[name] == nil else { throw InvalidRequest("the host \(name) stands twice") }
            guard case .publicKeys(let keys) = rule else {
                rules[name] = rule
                continue
            }
            if keys.isEmpty { throw InvalidRequest("\(host) has no keys") }
            rules[name] = .publicKeys(
                try keys.map { key in
                    guard let hash = PublicKeyHash.normal(key) else {
                        throw InvalidRequest("\(key.debugDescription) is not a SHA-256 hash in Base64")
                    }
                    return hash
                })
        }
        return rules
    }

    /// Returns the keys that the server of a URL must have one of; `nil` for any key.
    /// - Throws: `InvalidRequest` if there is a mistake in the rules, or if the keys cannot be checked over http.
    func publicKeys(for url: URL) throws -> [String]? {
        if let mistake { throw InvalidRequest(mistake) }
        guard !rules.isEmpty, let host = Self.name(url.host ?? "") else { return nil }
        guard host.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else { throw InvalidRequest("serverTrust: the host is not in ASCII") }
        guard case .publicKeys(let keys) = rule(for: host) else { return nil }
        guard url.scheme?.lowercased() == "https" else { throw InvalidRequest("the host is pinned, and over http it has no certificate") }
        return keys
    }

    private func rule(for host: String) -> Rule? {
        if let rule = rules[host] { return rule }
        var rest = host[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let rule = rules["*.\(rest)"] { return rule }
        }
        return rules["*"]
    }

    private static func pattern(_ host: String) -> String? {
        if host == "*" { return host }
        let isWildcard = host.hasPrefix("*.")
        // The parser of URLs brings a name into the form that it has in a request: Punycode, without percent-encoding.
        let text = isWildcard ? String(host.dropFirst(2)) : host
        if let address = address(text) { return isWildcard ? nil : address }
        guard !text.contains(where: { "/?#@\\*".contains($0) }), let parts = URLComponents(string: "https://\(text)"), parts.port == nil,
            let name = parts.url?.host.flatMap(name), name.utf8.allSatisfy({ $0 > 32 && $0 < 127 && $0 != UInt8(ascii: "%") })
        else { return nil }
        return isWildcard ? "*.\(name)" : name
    }

    /// A name in lower case without the dot at its end, which means the same host. An address in its usual form.
    private static func name(_ host: String) -> String? {
        let name = host.lowercased()
        let bare = name.hasSuffix(".") ? String(name.dropLast()) : name
        return bare.isEmpty ? nil : address(bare) ?? bare
    }

    /// The usual form of an IP address, which has many: `127.1`, `0x7f000001`, `0::1`. `nil` for a name.
    private static func address(_ host: String) -> String? {
        // The resolver would read other names, too, and none of an address has more than these.
        guard host.utf8.allSatisfy({ "0123456789abcdefx.:".utf8.contains($0) }), host.contains(":") || host.first?.isNumber == true
        else { return nil }
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &found) == 0, let found else { return nil }
        defer { freeaddrinfo(found) }
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        guard getnameinfo(found.pointee.ai_addr, found.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
        else { return nil }
        return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
    }
}
