/// A request option that indicates whether the request may use a cellular connection.
enum AllowsCellularAccess: RequestOptionKey { static let defaultValue = true }

/// A request option that indicates whether the request may use a network that the system considers expensive.
enum AllowsExpensiveNetworkAccess: RequestOptionKey { static let defaultValue = true }

/// A request option that indicates whether the request may use a network in Low Data Mode.
enum AllowsConstrainedNetworkAccess: RequestOptionKey { static let defaultValue = true }

/// A request option that asks the transport to deliver the body with its content coding, as the server sent it, and to add no
/// `Accept-Encoding` itself. Over a transport whose `Transport.keepsContentCoding` is false, such as `URLSessionTransport`, the request
/// fails with `NessError.invalidRequest` before it is sent.
public enum KeepsContentCoding: RequestOptionKey {
    /// False: the transport removes any content coding.
    public static let defaultValue = false
}

/// A request option with the public keys that the server may have, as `ServerTrust.Rule.publicKeys` describes them, without `sha256//`. The
/// transport checks them before it sends anything, besides the certificate. Ness sets it, for a transport whose `Transport.tlsCapabilities`
/// contain `publicKeys`, in place of any value that the application has set: see `Ness.Configuration.serverTrust`.
public enum PinnedPublicKeys: RequestOptionKey {
    /// `nil`: any key.
    public static let defaultValue: [String]? = nil
}

/// A request option with the only authorities that may have signed the server's certificate. Ness sets it, for a transport whose
/// `Transport.tlsCapabilities` contain `authorities`, in place of any value that the application has set.
public enum TrustedAuthorities: RequestOptionKey {
    /// `nil`: the authorities that the transport trusts by itself.
    public static let defaultValue: Certificates? = nil
}

/// A request option with the identity for a server that asks for a client certificate. Ness sets it, for a transport whose
/// `Transport.tlsCapabilities` contain `clientIdentities`, in place of any value that the application has set.
public enum ShownIdentity: RequestOptionKey {
    /// `nil`: the identity that the transport has by itself, if any.
    public static let defaultValue: ClientIdentity? = nil
}

/// A request option that asks the transport to send `Expect: 100-continue` and to hold the body back until the server agrees: see
/// `RequestBuilder.set(expectsContinue:within:)`. The value is the longest wait.
public enum ExpectsContinue: RequestOptionKey {
    /// `nil`: the body follows the head immediately.
    public static let defaultValue: Duration? = nil
}
