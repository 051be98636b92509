/// The reason why no secure connection could be made.
public enum TLSFailure: String, Sendable, Hashable, CaseIterable {
    /// The server's certificate has expired, or is not valid yet.
    case expired
    /// No authority that the system trusts has signed the server's certificate. On Apple platforms, which do not tell them apart, this is also
    /// the reason where the certificate is for another host.
    case untrusted
    /// The server's certificate is for another host.
    case wrongHost
    /// The two sides have no version or cipher in common, or the server does not speak TLS at all.
    case protocolMismatch
    /// Another reason, such as a client certificate that the server wants.
    case other
}
