extension String {
    /// The text with each character percent-encoded that a URL cannot contain. `URL(string:)` cannot replace this: if one character needs
    /// encoding, it also encodes existing percent signs again. The authority stays unchanged. A host name is converted (IDNA) instead.
    var percentEncodedWhereNeeded: String {
        let bytes = Array(utf8), authorityEnd = Self.authorityEnd(of: bytes)
        var result = Array(bytes[..<authorityEnd])
        for index in authorityEnd..<bytes.count {
            let byte = bytes[index]
            let isEscape =
                byte == UInt8(ascii: "%") && index + 2 < bytes.count && bytes[index + 1].hexDigitValue != nil
                && bytes[index + 2].hexDigitValue != nil
            if isEscape || byte.isURLCharacter { result.append(byte) } else { PercentEncoding.append(byte, to: &result) }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns the number of bytes up to the end of a URL's authority; 0 without an authority.
    private static func authorityEnd(of bytes: [UInt8]) -> Int {
        let isEnd: (UInt8) -> Bool = { "/?#".utf8.contains($0) }
        if let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8),
            !bytes[..<colon].contains(where: isEnd)
        {
            return bytes[(colon + 3)...].firstIndex(where: isEnd) ?? bytes.count
        }
        return bytes.starts(with: "//".utf8) ? bytes[2...].firstIndex(where: isEnd) ?? bytes.count : 0
    }
}

extension UInt8 {
    /// True for an unreserved or reserved character (RFC 3986, sections 2.2 and 2.3), except brackets, which only an IPv6 address may
    /// contain.
    var isURLCharacter: Bool {
        // Written as the exceptions: this runs for each byte of each URL.
        switch self {
        case ..<33, 127...: false
        case UInt8(ascii: "\""), UInt8(ascii: "%"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "["), UInt8(ascii: "\\"),
            UInt8(ascii: "]"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
            false
        default: true
        }
    }
}
