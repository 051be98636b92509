#if !canImport(FoundationNetworking)
import Foundation

/// A decision about a server's certificate.
public enum ServerTrustDecision: Sendable, Hashable {
    /// The system evaluates the certificate.
    case systemDefault
    /// The certificate is accepted, even if the system would reject it.
    ///
    /// App Transport Security judges the certificate again afterwards, and ends the request with `NessError.Kind.tls` if the system does
    /// not trust it. A self-signed certificate therefore also needs an exception for its host in the Info.plist, such as
    /// `NSExceptionAllowsInsecureHTTPLoads`. No decision bypasses `NSPinnedDomains`.
    case trusted
    /// The certificate is rejected, even if the system would accept it. The request fails with `NessError.Kind.tls`, and the error's
    /// `tlsFailure` is `.pinMismatch`.
    case rejected
}

extension URLSessionTransport {
    /// Makes a transport with a closure that decides about each server's certificate, for example for pinning.
    /// - Parameters:
    ///   - configure: Changes the configuration of a new session: see `init(configure:prepare:systemCredentials:)`.
    ///   - prepare: Changes a request just before URLSession gets it: see the same initializer.
    ///   - systemCredentials: The hosts whose servers may get the system's credentials: see the same initializer.
    ///   - serverTrust: Decides about the `serverTrust` of a protection space, which also has the host. Runs on a concurrent queue of the
    ///     session's own. Only the connection that it decides about waits for it. A resumed TLS session may skip this closure. For pinning,
    ///     prefer `Ness.Configuration.serverTrust`, which then rejects the response.
    public convenience init(
        configure: @escaping @Sendable (URLSessionConfiguration) -> Void = { _ in },
        prepare: @escaping @Sendable (inout URLRequest, HTTPRequest) -> Void = { _, _ in }, systemCredentials: [String] = [],
        serverTrust decide: @escaping @Sendable (URLProtectionSpace) -> ServerTrustDecision
    ) {
        self.init(configure, prepare, systemCredentials) { challenge in
            switch decide(challenge.protectionSpace) {
            case .systemDefault: return .systemDefault
            case .trusted: return .use(challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
            case .rejected: return .cancel
            }
        }
    }
}
#endif
