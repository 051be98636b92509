import Foundation

/// The servers that a manager trusts: see `Ness.Configuration.serverTrust`.
///
/// ```swift
/// let ness = Ness {
///     $0.serverTrust = .pinned([
///         "*.example.com": .publicKeys([current, backup]),
///         "cdn.example.com": .system,
///     ])
/// }
/// ```
///
/// A host is a name, which stands for itself, or `*.` and a name, which stands for all names below it, at any depth, but not for the name
/// itself. `*` stands for all hosts. If several entries match, the host's own entry applies, or else the one with the longest name.
///
/// A server of a pinned host needs a certificate that the system trusts and one of the keys, or a certificate of one of the authorities.
/// The rule applies to each exchange, even after a redirect. Nothing is sent to another server: the request fails with
/// `NessError.Kind.tls`, whose `tlsFailure` is `TLSFailure.pinMismatch`, or `.untrusted` for another authority. On Apple platforms a
/// closure of `URLSessionTransport(serverTrust:)` that returns `.trusted` takes the place of the system. There, a connection may resume a
/// TLS session of the process without a check. The request is then sent, but its response is rejected with the same error.
///
/// A request fails with `NessError.Kind.invalidRequest`, or after a redirect with `NessError.Kind.redirect`, before a connection is
/// opened, in these cases:
/// - It goes over http to a host with a rule of public keys or, unless the rule is that of `*`, of authorities.
/// - There are rules, and no rule can name its host: it hides letters outside of ASCII in percent-encoding, or has more than 255 bytes.
/// - It goes to a pinned host, and the transport cannot check the rule (`Transport.tlsCapabilities`).
/// - An entry's host is not valid or is listed twice, its list of keys is empty, or a key is not a SHA-256 hash in Base64. Then every
///   request of the manager fails, because the mistake may concern any host.
public struct ServerTrust: Sendable, Hashable {
    /// The condition for the servers of a host.
    public enum Rule: Sendable, Hashable {
        /// The certificate must be one that the system trusts.
        case system
        /// The certificate must also have one of these public keys.
        ///
        /// A key is the SHA-256 hash of its SubjectPublicKeyInfo in Base64 (RFC 7469, section 2.4), with or without `sha256//` before it.
        /// It is compared with the key of the server's own certificate, not of an authority's. Name a second key, whose certificate is not
        /// in use yet, so that the server can change its key. With `signedBy`, the certificate must be signed by one of these authorities,
        /// in place of the system's.
        ///
        /// ```text
        /// openssl x509 -in server.pem -pubkey -noout |
        ///     openssl pkey -pubin -outform der |
        ///     openssl dgst -sha256 -binary | base64
        /// ```
        case publicKeys([String], signedBy: Certificates? = nil)
        /// The certificate must be signed by one of these authorities, in place of the system's. For `*`, the rule does not
        /// concern requests over http, which have no certificate.
        case authorities(Certificates)
    }

    /// The demands of each host's rule. Empty demands for a host with the rule `.system`.
    private let rules: HostRules<TLSDemands>

    /// Accepts every certificate that the system trusts.
    public static let system = pinned([:])

    /// Requires certain public keys, or certificates of certain authorities, from the servers of some hosts.
    /// - Parameter hosts: The rules by host. A host without a rule is treated as by `.system`.
    /// - Returns: The trust.
    public static func pinned(_ hosts: [String: Rule]) -> ServerTrust {
        ServerTrust(rules: HostRules("serverTrust", hosts) { rule, host in try demands(of: rule, host) })
    }

    private static func demands(of rule: Rule, _ host: String) throws -> TLSDemands {
        switch rule {
        case .system: return TLSDemands()
        case .authorities(let authorities): return TLSDemands(authorities: authorities)
        case .publicKeys(let keys, let authorities):
            if keys.isEmpty { throw InvalidRequest("\(host) has no keys") }
            let hashes = try keys.map { key in
                guard let hash = PublicKeyHash.normal(key) else {
                    throw InvalidRequest("\(key.debugDescription) is not a SHA-256 hash in Base64")
                }
                return hash
            }
            return TLSDemands(publicKeys: hashes, authorities: authorities)
        }
    }

    /// Returns the demands of the rule for a request's host; `nil` for none.
    /// - Throws: `InvalidRequest` if there is a mistake in the rules, or if the rule cannot be checked over http.
    func demands(on request: HTTPRequest) throws -> TLSDemands? {
        guard let demands = try rules.value(for: request), demands.concernServer else { return nil }
        if request.origin.scheme == "https" { return demands }
        if demands.publicKeys == nil, try rules.value(for: request, isNamed: true) == nil { return nil }
        throw InvalidRequest("the host is pinned, which requires https")
    }
}
