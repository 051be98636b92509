import Foundation

/// What a request can be sent to: a `String` or a `URL`.
public protocol URLConvertible: Sendable {
    /// The URL.
    /// - Throws: An error if there is none.
    func asURL() throws -> URL
}

extension URL: URLConvertible {
    /// Itself.
    public func asURL() throws -> URL { self }
}

extension String: URLConvertible {
    /// Reads the text as a URL or a relative reference (RFC 3986). Spaces and characters beyond ASCII are percent-encoded; control
    /// characters are refused, never removed or encoded.
    public func asURL() throws -> URL {
        if isEmpty { throw InvalidURL(description: "the URL is empty") }
        if unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) {
            throw InvalidURL(description: "the URL has a control character")
        }
        guard let url = URL(string: percentEncodedWhereNeeded) else { throw InvalidURL(description: "the text is not a URL") }
        return url
    }

    /// The text with what no URL can hold percent-encoded, and nothing else: `URL(string:)` would encode what is encoded already once one
    /// character needs it. The authority stays as it is: its names are not percent-encoded but translated.
    private var percentEncodedWhereNeeded: String {
        let bytes = Array(utf8)
        var authorityEnd = 0
        if let mark = range(of: "://"), !self[..<mark.lowerBound].contains(where: { "/?#".contains($0) }) {
            let rest = self[mark.upperBound...]
            let end = rest.firstIndex { "/?#".contains($0) } ?? endIndex
            authorityEnd = utf8.distance(from: startIndex, to: end)
        }
        var result = Array(bytes[..<authorityEnd])
        for index in authorityEnd..<bytes.count {
            let byte = bytes[index]
            let isEscape =
                byte == UInt8(ascii: "%") && index + 2 < bytes.count && bytes[index + 1].isHexDigit && bytes[index + 2].isHexDigit
            if isEscape || byte.isURLCharacter {
                result.append(byte)
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                result += "%\(digits.utf8.count < 2 ? "0" : "")\(digits)".utf8
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool { (48...57).contains(self) || (65...70).contains(self) || (97...102).contains(self) }

    /// Unreserved or reserved (RFC 3986, 2.2 and 2.3), without the brackets, which only an address may have.
    fileprivate var isURLCharacter: Bool {
        (48...57).contains(self) || (65...90).contains(self) || (97...122).contains(self) || "-._~:/?#@!$&'()*+,;=".utf8.contains(self)
    }
}
