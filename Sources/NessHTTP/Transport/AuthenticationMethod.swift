/// The answer to one of URLSession's authentication challenges, by the challenge's method.
enum AuthenticationMethod: Sendable, Hashable {
    /// The origin asks for credentials. The challenge is rejected, and its 401 is an ordinary response: the pipeline authenticates.
    case http
    /// The server's certificate. The caller's closure decides, or else the system.
    case serverTrust
    /// The server asks for a client certificate. The host's identity is the answer, or else what the user has set up, or nothing.
    case clientCertificate
    /// A proxy asks for credentials. The system answers with what the user has set up, or with nothing.
    case system

    /// Chooses the answer.
    /// - Parameters:
    ///   - name: The `authenticationMethod` of the protection space. The names are written out, because Foundation on Linux has not all.
    ///   - isProxy: True if a proxy asks.
    init(_ name: String, isProxy: Bool) {
        switch name {
        case "NSURLAuthenticationMethodServerTrust": self = .serverTrust
        case "NSURLAuthenticationMethodClientCertificate": self = isProxy ? .system : .clientCertificate
        case "NSURLAuthenticationMethodHTTPBasic", "NSURLAuthenticationMethodHTTPDigest", "NSURLAuthenticationMethodNTLM",
            "NSURLAuthenticationMethodNegotiate":
            self = isProxy ? .system : .http
        default: self = .system
        }
    }
}
