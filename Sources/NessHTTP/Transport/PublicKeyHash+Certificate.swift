#if canImport(Security)
import Foundation
import Security

extension PublicKeyHash {
    /// Returns true if the key of a server's own certificate has one of the hashes.
    static func isKey(of trust: SecTrust?, in hashes: [String]) -> Bool {
        guard let trust, let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate], let own = chain.first,
            let hash = make(certificate: SecCertificateCopyData(own) as Data)
        else { return false }
        return hashes.contains(hash)
    }
}
#endif
