/// The reason why no secure connection could be established.
public enum TLSFailure: String, Sendable, Hashable, CaseIterable {
    /// The server's certificate has expired, or is not valid yet.
    case expired
    /// No authority that the system trusts has signed the server's certificate. Apple platforms report a certificate for another host in
    /// the same way, so it has this reason there, too.
    case untrusted
    /// The server's certificate is for another host.
    case wrongHost
    /// The two sides have no version or cipher in common, or the server does not speak TLS at all.
    case protocolMismatch
    /// Another reason, for example a server that requires a client certificate.
    case other
}
