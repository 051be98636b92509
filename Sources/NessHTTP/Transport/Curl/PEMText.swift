#if os(Linux)
import Foundation

/// Checks certificates and keys in the text form of RFC 7468, which libcurl reads only when it opens a connection.
enum PEMText {
    /// A block between its `BEGIN` and `END` lines.
    private struct Block {
        let label: Substring
        let lines: ArraySlice<Substring>

        /// True if the lines are Base64 of DER, which begins with a sequence.
        var isDER: Bool { Data(base64Encoded: lines.joined())?.first == 0x30 }
        /// True for either form of an encrypted key (RFC 5958, RFC 1421).
        var isEncrypted: Bool {
            label == "ENCRYPTED PRIVATE KEY" || lines.contains { $0.hasPrefix("Proc-Type:") && $0.contains("ENCRYPTED") }
        }
    }

    /// Returns true if bytes hold certificates, and no damaged one.
    static func holdsCertificates(_ bytes: Data) -> Bool {
        let certificates = blocks(bytes).filter { $0.label.hasSuffix("CERTIFICATE") }
        return !certificates.isEmpty && certificates.allSatisfy(\.isDER)
    }

    /// Returns whether the private key in bytes is encrypted; `nil` if the bytes hold no key.
    static func isKeyEncrypted(_ bytes: Data) -> Bool? {
        guard let key = blocks(bytes).first(where: { $0.label.hasSuffix("PRIVATE KEY") }) else { return nil }
        return key.isEncrypted ? true : key.isDER ? false : nil
    }

    private static func blocks(_ bytes: Data) -> [Block] {
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map { line in
            line.drop { $0.isWhitespace }.prefix { !$0.isNewline }
        }
        var blocks: [Block] = []
        var start: Int?
        for (index, line) in lines.enumerated() {
            if line.hasPrefix("-----BEGIN ") { start = index }
            guard let begin = start, line.hasPrefix("-----END ") else { continue }
            let label = lines[begin].dropFirst(11).prefix { $0 != "-" }
            blocks.append(Block(label: label, lines: lines[(begin + 1)..<index]))
            start = nil
        }
        return blocks
    }
}
#endif
