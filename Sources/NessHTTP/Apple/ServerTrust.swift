#if !canImport(FoundationNetworking)
import Foundation

/// What becomes of a connection whose server has shown its certificate.
public enum ServerTrustDecision: Sendable, Hashable {
    /// The system decides.
    case systemDefault
    /// The certificate is good, whatever the system says.
    case trusted
    /// The certificate is not good, whatever the system says: the request fails.
    case refused
}

extension URLSessionTransport {
    /// Makes a transport that asks about each server's certificate, as for pinning.
    /// - Parameters:
    ///   - configure: As in `init(configure:)`.
    ///   - serverTrust: Decides; the space holds the host and its `serverTrust`. Runs on the session's queue, and holds up whatever else comes
    ///     there.
    public convenience init(
        configure: @escaping @Sendable (URLSessionConfiguration) -> Void = { _ in },
        serverTrust decide: @escaping @Sendable (URLProtectionSpace) -> ServerTrustDecision
    ) {
        self.init(configure) { challenge in
            switch decide(challenge.protectionSpace) {
            case .systemDefault: return (.performDefaultHandling, nil)
            case .trusted: return (.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
            case .refused: return (.cancelAuthenticationChallenge, nil)
            }
        }
    }
}
#endif
