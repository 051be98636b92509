/// The way to handle one of URLSession's authentication challenges, by the challenge's method.
enum AuthenticationMethod: Sendable, Hashable {
    /// The origin asks for credentials. The challenge is rejected, and its 401 is an ordinary response: the pipeline authenticates.
    case http
    /// The server's certificate. The caller's closure decides, or else the system. A proxy's certificate is the system's business.
    case serverTrust
    /// The server asks for a client certificate. The response is the host's identity, or else what the user has set up, or nothing.
    case clientCertificate
    /// A proxy asks, or a server that may get the system's credentials. The system responds with what the user has set up, or with nothing.
    case system

    /// Chooses the way.
    /// - Parameters:
    ///   - name: The `authenticationMethod` of the protection space. The names are written out, because Foundation on Linux has not all.
    ///   - isProxy: True if a proxy asks.
    ///   - usesSystemCredentials: True if the server may get the system's credentials.
    init(_ name: String, isProxy: Bool, usesSystemCredentials: Bool = false) {
        switch name {
        case _ where isProxy: self = .system
        case "NSURLAuthenticationMethodServerTrust": self = .serverTrust
        case "NSURLAuthenticationMethodClientCertificate": self = .clientCertificate
        case "NSURLAuthenticationMethodNTLM", "NSURLAuthenticationMethodNegotiate": self = usesSystemCredentials ? .system : .http
        case "NSURLAuthenticationMethodHTTPBasic", "NSURLAuthenticationMethodHTTPDigest": self = .http
        default: self = .system
        }
    }
}
