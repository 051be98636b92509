/// The reason why no secure connection could be established.
public enum TLSFailure: String, Sendable, Hashable, CaseIterable {
    /// The server's certificate has expired, or is not valid yet.
    case expired
    /// No authority that the client trusts has signed the server's certificate. Apple platforms report a certificate for another host in
    /// the same way, so it has this reason there, too.
    case untrusted
    /// The server's certificate is for another host.
    case wrongHost
    /// The two sides have no version or cipher in common, or the server does not speak TLS at all. Before TLS 1.3, a server that requires a
    /// client certificate may report this reason, too.
    case protocolMismatch
    /// The server's public key is none of those that the client expects, or a `serverTrust` closure has rejected its certificate.
    case pinMismatch
    /// The server requires a client certificate or rejects the one that it got, or the client's own cannot be used with its key.
    case clientCertificate
    /// Another reason.
    case other
}
