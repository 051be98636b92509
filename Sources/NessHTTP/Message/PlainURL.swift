/// A URL that is written as most are, so that there is nothing to find out about it: to take one apart takes microseconds.
///
/// The scheme is `http` or `https`, the host consists of small letters, digits, dots and hyphens, the port is a number from 1 to 65535 if
/// there is one, path and query have only what may stand there (RFC 3986, 3.3, 3.4), and there is no user and no fragment.
package struct PlainURL {
    private enum Part { case host, port, rest }

    private let text: String
    private let isSecure: Bool
    private var port: Int?
    private var hasPath = false
    private var hasQuery = false

    /// Reads a URL.
    /// - Parameter text: The whole URL.
    /// - Returns: Nil for one that has to be looked at closely.
    package init?(_ text: String) {
        self.text = text
        var bytes = text.utf8[...]
        isSecure = bytes.starts(with: "https://".utf8)
        guard isSecure || bytes.starts(with: "http://".utf8) else { return nil }
        bytes = bytes.dropFirst(isSecure ? 8 : 7)
        var part = Part.host
        var hostLength = 0
        var digitsToCome = 0
        for byte in bytes {
            switch (part, byte) {
            case (.host, UInt8(ascii: "a")...UInt8(ascii: "z")), (.host, UInt8(ascii: "0")...UInt8(ascii: "9")),
                (.host, UInt8(ascii: ".")), (.host, UInt8(ascii: "-")):
                hostLength += 1
            case (.host, UInt8(ascii: ":")):
                part = .port
                port = 0
            case (.port, UInt8(ascii: "0")...UInt8(ascii: "9")):
                let number = (port ?? 0) * 10 + Int(byte - UInt8(ascii: "0"))
                guard 1...65_535 ~= number else { return nil }
                port = number
            case (.host, UInt8(ascii: "/")), (.port, UInt8(ascii: "/")):
                part = .rest
                hasPath = true
            case (.host, UInt8(ascii: "?")), (.port, UInt8(ascii: "?")):
                part = .rest
                hasQuery = true
            case (.rest, UInt8(ascii: "%")):
                guard digitsToCome == 0 else { return nil }
                digitsToCome = 2
            case (.rest, _):
                if digitsToCome > 0 {
                    guard Self.isHexadecimal(byte) else { return nil }
                    digitsToCome -= 1
                } else if !Self.isOrdinary(byte) {
                    return nil
                }
            default: return nil
            }
        }
        guard hostLength > 0, port != 0, digitsToCome == 0 else { return nil }
    }

    /// The one way to write it (RFC 3986, 6.2), escapes aside: with a path, and without a port that goes without saying. Nil where that takes
    /// more than a slash.
    package var normalized: String? {
        if port == (isSecure ? 443 : 80) { return nil }
        if hasPath { return text }
        return hasQuery ? nil : text + "/"
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): true
        default: false
        }
    }

    /// Whether a byte may stand in a path or a query as it is.
    private static func isOrdinary(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "&")...UInt8(ascii: ";"),
            UInt8(ascii: "?"), UInt8(ascii: "@"), UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "="), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
