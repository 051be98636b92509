#if os(Linux)
import Foundation

/// Recognizes a private key in the text form of RFC 7468, which libcurl reads only when it opens a connection.
enum PEMKey {
    /// Returns true if the first private key in some bytes is encrypted. `nil` for bytes without a private key, or with a damaged one.
    static func isEncrypted(_ bytes: Data) -> Bool? {
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map { $0.drop(while: \.isWhitespace) }
        guard let begin = lines.firstIndex(where: { $0.hasPrefix("-----BEGIN ") && $0.contains("PRIVATE KEY-----") }),
            let end = lines[begin...].firstIndex(where: { $0.hasPrefix("-----END ") })
        else { return nil }
        let content = lines[(begin + 1)..<end]
        // Either form of an encrypted key (RFC 5958, RFC 1421).
        if lines[begin].contains("ENCRYPTED PRIVATE KEY")
            || content.contains(where: { $0.hasPrefix("Proc-Type:") && $0.contains("ENCRYPTED") })
        {
            return true
        }
        // Base64 of DER, which begins with a sequence.
        return Data(base64Encoded: content.joined())?.first == 0x30 ? false : nil
    }
}
#endif
