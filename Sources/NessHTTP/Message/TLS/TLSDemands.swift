import Foundation

/// The demands of a request on its connection, besides a certificate that the system trusts: see `HTTPRequest.tlsDemands`.
///
/// The rules of `Ness.Configuration.serverTrust` and `clientIdentities` make them. A transport meets all that are not `nil`, before it
/// sends anything. It gets only those that its `Transport.tlsCapabilities` contain: otherwise the request fails before it is sent.
public final class TLSDemands: Sendable, Hashable {
    // A class, so that the requests to the hosts of a rule share the demands.

    /// The public keys that the server may have, as `ServerTrust.Rule.publicKeys` describes them, without `sha256//`; `nil` for any key.
    public let publicKeys: [String]?
    /// The only authorities that may have signed the server's certificate; `nil` for those that the transport trusts by itself.
    public let authorities: Certificates?
    /// The identity for a server that asks for a client certificate; `nil` for none.
    public let identity: ClientIdentity?

    /// Makes demands.
    /// - Parameters:
    ///   - publicKeys: The public keys that the server may have; `nil` for any key.
    ///   - authorities: The only authorities that may have signed the server's certificate; `nil` for those that the transport trusts.
    ///   - identity: The identity for a server that asks for a client certificate; `nil` for none.
    public init(publicKeys: [String]? = nil, authorities: Certificates? = nil, identity: ClientIdentity? = nil) {
        (self.publicKeys, self.authorities, self.identity) = (publicKeys, authorities, identity)
    }

    /// Returns true if two demands are the same.
    public static func == (left: TLSDemands, right: TLSDemands) -> Bool {
        left === right
            || left.publicKeys == right.publicKeys && left.authorities == right.authorities && left.identity == right.identity
    }

    /// Adds the demands to a hash.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(publicKeys)
        hasher.combine(authorities)
        hasher.combine(identity)
    }

    /// The abilities that a transport needs to meet the demands.
    var capabilities: TLSCapabilities {
        var needed: TLSCapabilities = []
        if publicKeys != nil { needed.insert(.publicKeys) }
        if authorities != nil { needed.insert(.authorities) }
        if identity != nil { needed.insert(.clientIdentities) }
        return needed
    }

    /// True if the server's certificate decides whether the response may be used.
    var concernServer: Bool { publicKeys != nil || authorities != nil }

    /// Returns the error of a request whose response starts although no certificate was checked; `nil` if the response may be used.
    ///
    /// The cache of TLS sessions belongs to the process (Apple's QA1727), so a connection may resume the TLS session of another URLSession,
    /// which had no demands. URLSession then does not ask about the certificate.
    /// - Parameter hasChecked: True if the URLSession, which is for one origin, has accepted a certificate of the server.
    func refusal(hasChecked: Bool) -> TransportError? {
        if hasChecked || !concernServer { return nil }
        var refusal = TransportError(
            .tls, "the connection resumed a TLS session of the process, so the server's certificate could not be checked",
            tlsFailure: publicKeys == nil ? .untrusted : .pinMismatch)
        refusal.repetition = .ifSafe
        return refusal
    }
}

/// The demands that a transport can meet: see `Transport.tlsCapabilities`.
public struct TLSCapabilities: OptionSet, Sendable, Hashable {
    /// The bits of the set.
    public let rawValue: Int

    /// Makes a set of its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Comparing the server's public key with `TLSDemands.publicKeys`.
    public static let publicKeys = TLSCapabilities(rawValue: 1)
    /// Trusting only `TLSDemands.authorities`.
    public static let authorities = TLSCapabilities(rawValue: 2)
    /// Showing `TLSDemands.identity` to a server that asks for a certificate.
    public static let clientIdentities = TLSCapabilities(rawValue: 4)
    /// All of these.
    public static let all: TLSCapabilities = [.publicKeys, .authorities, .clientIdentities]
}

/// A version of TLS.
public enum TLSVersion: String, Sendable, Hashable, CaseIterable {
    /// TLS 1.0, which RFC 8996 deprecates.
    case v1_0 = "TLS 1.0"
    /// TLS 1.1, which RFC 8996 deprecates.
    case v1_1 = "TLS 1.1"
    /// TLS 1.2 (RFC 5246).
    case v1_2 = "TLS 1.2"
    /// TLS 1.3 (RFC 8446).
    case v1_3 = "TLS 1.3"
}
