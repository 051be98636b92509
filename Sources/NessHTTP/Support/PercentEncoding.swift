/// Percent-encodes all characters except the unreserved ones of RFC 3986, 2.3: ASCII letters, digits and `-._~`. Text is encoded as UTF-8,
/// a space as `%20`, with upper-case hexadecimal digits. Queries and forms share this code.
package enum PercentEncoding {
    /// Encodes a string.
    /// - Parameter text: Any string.
    /// - Returns: The text with only unreserved characters and `%XX`.
    package static func encode(_ text: String) -> String {
        if text.utf8.allSatisfy(\.isUnreserved) { return text }
        var bytes: [UInt8] = []
        append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Encodes a string and appends it to bytes.
    /// - Parameters:
    ///   - text: Any string.
    ///   - bytes: The buffer that receives the ASCII bytes.
    package static func append(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            if byte.isUnreserved { bytes.append(byte) } else { append(byte, to: &bytes) }
        }
    }

    /// Encodes a byte as `%XX` and appends it to bytes.
    static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "%"))
        bytes.append(hexDigit(byte >> 4))
        bytes.append(hexDigit(byte & 0x0F))
    }

    /// Decodes a string. A `%` without two hexadecimal digits and a `+` are kept.
    /// - Parameter text: The encoded text.
    /// - Returns: The decoded text. The unchanged text if the decoded bytes are not UTF-8.
    package static func decode(_ text: Substring) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        let decoded = decode(Array(text.utf8)[...])
        let result = String(decoding: decoded, as: UTF8.self)
        return result.utf8.elementsEqual(decoded) ? result : String(text)
    }

    /// Decodes bytes. A `%` without two hexadecimal digits and a `+` are kept.
    static func decode(_ encoded: ArraySlice<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = [], rest = encoded
        decoded.reserveCapacity(encoded.count)
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first?.hexDigitValue, let low = rest.dropFirst().first?.hexDigitValue {
                decoded.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return decoded
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}

extension UInt8 {
    fileprivate var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }
}

extension UInt8 {
    /// True if the byte is a decimal digit in ASCII.
    package var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

    /// The value of the byte as a hexadecimal digit in either case; `nil` if it is not one.
    package var hexDigitValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
