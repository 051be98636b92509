import Foundation

/// The hash by which a public key is known: the SHA-256 of its SubjectPublicKeyInfo, in Base64 (RFC 7469, section 2.4).
package enum PublicKeyHash {
    /// Returns a hash in its usual form, without `sha256//` before it; `nil` if it is not a SHA-256 hash in Base64.
    static func normal(_ text: String) -> String? {
        let hash = text.hasPrefix("sha256//") ? String(text.dropFirst(8)) : text
        guard let bytes = Data(base64Encoded: hash), bytes.count == 32 else { return nil }
        // Several strings encode the same bytes.
        return bytes.base64EncodedString()
    }

    /// Computes the hash of a certificate's key.
    /// - Parameter certificate: An X.509 certificate in DER (RFC 5280, section 4.1).
    /// - Returns: The hash; `nil` if the bytes are not such a certificate.
    package static func make(certificate: Data) -> String? {
        let bytes = [UInt8](certificate)
        guard let whole = DERElement(bytes[...]), let signed = whole.first, var field = signed.first else { return nil }
        // The version, in the context tag 0, is left out for version 1. Then follow the serial number, the algorithm, the issuer, the
        // validity and the subject.
        for _ in 0..<(field.tag == 0xa0 ? 6 : 5) {
            guard let next = DERElement(bytes[field.end..<signed.end]) else { return nil }
            field = next
        }
        guard field.tag == 0x30 else { return nil }
        return SHA256Hash.digest(of: bytes[field.start..<field.end]).base64EncodedString()
    }
}

/// An element of DER (X.690): a tag of one byte, a length and a content.
private struct DERElement {
    let tag: UInt8
    let start: Int
    let end: Int
    private let content: ArraySlice<UInt8>

    /// Reads the element at the start of some bytes.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count >= 2 else { return nil }
        tag = bytes[bytes.startIndex]
        start = bytes.startIndex
        let first = bytes[start + 1]
        var length = Int(first), from = start + 2
        if first >= 0x80 {
            // Four bytes of length are far more than a certificate needs.
            let count = Int(first & 0x7f)
            guard (1...4).contains(count), bytes.count >= 2 + count else { return nil }
            length = bytes[from..<from + count].reduce(0) { $0 << 8 | Int($1) }
            from += count
        }
        guard (0...max(0, bytes.endIndex - from)).contains(length) else { return nil }
        end = from + length
        content = bytes[from..<end]
    }

    /// The first element of the content.
    var first: DERElement? { DERElement(content) }
}

#if canImport(Security)
import Security

extension PublicKeyHash {
    /// Returns true if the key of a server's own certificate has one of the hashes.
    static func isKey(of trust: SecTrust?, in hashes: [String]) -> Bool {
        guard let trust, let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate], let leaf = chain.first,
            let hash = make(certificate: SecCertificateCopyData(leaf) as Data)
        else { return false }
        return hashes.contains(hash)
    }
}
#endif
