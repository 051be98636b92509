/// The way to handle one of URLSession's authentication challenges, by the challenge's method.
enum AuthenticationMethod: Sendable, Hashable {
    /// The origin asks for credentials. The challenge is rejected, and its 401 is an ordinary response: the pipeline authenticates.
    case http
    /// The server's certificate. The caller's closure decides, or else the system. A proxy's certificate is left to the system.
    case serverTrust
    /// The server asks for a client certificate. It receives the identity configured for the host, or else the one that the user has set
    /// up, if any.
    case clientCertificate
    /// A proxy asks for credentials, or a server that may receive the system's. The system sends those that the user has set up, if any.
    case system

    /// Chooses the way.
    /// - Parameters:
    ///   - name: The `authenticationMethod` of the protection space. The names are written out, because Foundation on Linux does not define
    ///     all of them.
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
