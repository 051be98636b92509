import Foundation

/// The demands of an exchange on the transport, besides a certificate that the system trusts.
struct TLSDemands: Sendable, Hashable {
    var publicKeys: [String]?
    var authorities: Certificates?
    var identity: ClientIdentity?

    var isEmpty: Bool { self == TLSDemands() }

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
        refusal.isPartlySent = true
        return refusal
    }
}

extension HTTPRequest {
    /// The demands of this request. They are set only on the copy that a transport gets, so that a redirect to another host does not
    /// inherit it.
    var demands: TLSDemands {
        get {
            TLSDemands(
                publicKeys: self[PinnedPublicKeys.self], authorities: self[TrustedAuthorities.self], identity: self[ShownIdentity.self])
        }
        set {
            // In one change: each change of a request copies its fields.
            var options = options
            if options[PinnedPublicKeys.self] != newValue.publicKeys { options[PinnedPublicKeys.self] = newValue.publicKeys }
            if options[TrustedAuthorities.self] != newValue.authorities { options[TrustedAuthorities.self] = newValue.authorities }
            if options[ShownIdentity.self] != newValue.identity { options[ShownIdentity.self] = newValue.identity }
            self.options = options
        }
    }
}

/// The request options about certificates that a transport honors: see `Transport.tlsCapabilities`.
public struct TLSCapabilities: OptionSet, Sendable, Hashable {
    /// The bits of the set.
    public let rawValue: Int

    /// Makes a set of its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Comparing the server's public key with those of the option `PinnedPublicKeys`.
    public static let publicKeys = TLSCapabilities(rawValue: 1)
    /// Trusting only the authorities of the option `TrustedAuthorities`.
    public static let authorities = TLSCapabilities(rawValue: 2)
    /// Showing the identity of the option `ShownIdentity` to a server that asks for one.
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
