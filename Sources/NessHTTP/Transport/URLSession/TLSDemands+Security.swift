#if canImport(Security)
import Foundation
import Security

extension Certificates {
    /// Returns true if one of these authorities has signed the server's certificate, which is valid for the host. The system's authorities
    /// do not count.
    func haveSigned(_ trust: SecTrust) -> Bool {
        let anchors = der.compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
        guard anchors.count == der.count, SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess,
            SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
        else { return false }
        return SecTrustEvaluateWithError(trust, nil)
    }
}

extension ClientIdentity {
    /// Reads the identity for URLSession.
    /// - Throws: `UnreadableIdentity`, for example with a wrong password.
    func credential() throws -> URLCredential {
        var items: CFArray?
        var options: [String: Any] = [kSecImportExportPassphrase as String: password]
        // Earlier systems add the identity to the default keychain of a Mac.
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) { options[kSecImportToMemoryOnly as String] = true }
        let status = SecPKCS12Import(certificates as CFData, options as CFDictionary, &items)
        // The comparison of type numbers makes the forced cast below safe. A conditional cast to a type of Core Foundation checks nothing.
        guard status == errSecSuccess, let first = (items as? [[String: Any]])?.first, let found = first[kSecImportItemIdentity as String],
            CFGetTypeID(found as CFTypeRef) == SecIdentityGetTypeID()
        else { throw UnreadableIdentity(status: status) }
        let chain = first[kSecImportItemCertChain as String] as? [SecCertificate] ?? []
        // The first certificate is the identity's own.
        return URLCredential(identity: found as! SecIdentity, certificates: Array(chain.dropFirst()), persistence: .none)
    }
}
#endif
