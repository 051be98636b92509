#if !canImport(FoundationNetworking)
import Foundation

/// A decision about a server's certificate.
public enum ServerTrustDecision: Sendable, Hashable {
    /// The system evaluates the certificate.
    case systemDefault
    /// The certificate is accepted, even if the system would reject it.
    case trusted
    /// The certificate is rejected, even if the system would accept it. The request fails with `NessError.tls`, and the error's
    /// `tlsFailure` is `.pinMismatch`.
    case rejected
}

extension URLSessionTransport {
    /// Makes a transport with a closure that decides about each server's certificate, for example for pinning.
    /// - Parameters:
    ///   - configure: Changes the configuration of a new session: see `init(configure:)`.
    ///   - serverTrust: Decides about the `serverTrust` of a protection space, which also has the host. Runs on a concurrent queue of the
    ///     session's own. Only the connection that it decides about waits for it.
    public convenience init(
        configure: @escaping @Sendable (URLSessionConfiguration) -> Void = { _ in },
        serverTrust decide: @escaping @Sendable (URLProtectionSpace) -> ServerTrustDecision
    ) {
        self.init(configure) { challenge in
            switch decide(challenge.protectionSpace) {
            case .systemDefault: return (.performDefaultHandling, nil)
            case .trusted: return (.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
            case .rejected: return (.cancelAuthenticationChallenge, nil)
            }
        }
    }
}
#endif
