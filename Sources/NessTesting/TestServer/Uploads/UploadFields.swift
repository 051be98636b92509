import Foundation
import NessHTTP

/// Parses and writes the header fields of both upload protocols.
enum UploadFields {
    /// Parses a Boolean of a structured field (RFC 9651, 3.3.6). `nil` for any other value: the field is then ignored.
    static func boolean(_ text: String?) -> Bool? {
        switch item(text) ?? "" {
        case "?1": true
        case "?0": false
        default: nil
        }
    }

    /// Parses an integer of a structured field (RFC 9651, 3.3.1) that is not negative. `nil` for any other value: the field is then
    /// ignored.
    static func integer(_ text: String?) -> Int64? { item(text).flatMap { $0.utf8.count <= 15 ? number($0) : nil } }

    /// Parses a number of ASCII digits, as tus writes it. `nil` for any other value.
    static func number(_ text: String?) -> Int64? {
        guard let text, !text.isEmpty, text.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }) else { return nil }
        return Int64(text)
    }

    /// Parses the pairs of `Upload-Metadata`.
    /// - Returns: The decoded values by their keys, with U+FFFD for bytes that are not UTF-8; `nil` if the field is malformed.
    static func metadata(_ text: String) -> [String: String]? {
        var pairs: [String: String] = [:]
        for element in text.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = element.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
            guard let key = parts.first, parts.count <= 2, pairs[key] == nil else { return nil }
            guard let value = parts.count == 2 ? Data(base64Encoded: parts[1]) : Data() else { return nil }
            pairs[key] = String(decoding: value, as: UTF8.self)
        }
        return pairs
    }

    /// Returns the media type of a content, in lower case and without parameters.
    static func mediaType(_ headers: HTTPHeaders) -> String {
        let value = headers["Content-Type"] ?? ""
        return String(decoding: value.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") }, as: UTF8.self).asciiLowercased
    }

    /// Returns a date in the format of HTTP (RFC 9110, 5.6.7).
    static func httpDate(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: date)
    }

    /// Returns the bare item of a structured field, without its parameters.
    private static func item(_ text: String?) -> String? {
        text.map { String(decoding: $0.utf8.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self) }
    }
}

/// The checksum of a body, as tus announces it in `Upload-Checksum`.
struct AnnouncedChecksum {
    /// The supported algorithms, as `Tus-Checksum-Algorithm` lists them.
    static let algorithms = "sha256,sha1,md5"

    private var digest: RunningDigest
    private let expected: Data

    /// Parses the field. `nil` if it is malformed, or if it names an unknown algorithm.
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard parts.count == 2, let algorithm = UploadChecksum(rawValue: parts[0]), let expected = Data(base64Encoded: parts[1])
        else { return nil }
        (digest, self.expected) = (algorithm.begin(), expected)
    }

    /// Adds bytes of the body.
    mutating func add(_ bytes: Data) { digest.add(bytes) }

    /// Returns true if the body has this checksum. Called once, at its end.
    mutating func matches() -> Bool { digest.finish() == expected }
}
