import Foundation

extension TextEncoding {
    /// Decodes bytes. Each invalid unit becomes a U+FFFD, and a byte order mark of this encoding is removed.
    /// - Parameter bytes: The bytes.
    /// - Returns: The text. The time grows linearly with the number of bytes.
    package func decode(_ bytes: Data) -> String {
        let content = bytes.dropFirst(bytes.starts(with: byteOrderMark) ? byteOrderMark.count : 0)
        switch self {
        case .utf8: return String(decoding: content, as: UTF8.self)
        case .utf16LE, .utf16BE: return Self.utf16(content, isLittleEndian: self == .utf16LE)
        case .utf32: return Self.utf32(content)
        case .replacement: return content.isEmpty ? "" : "\u{FFFD}"
        default: return content.withUnsafeBytes { LegacyTextDecoder.decode($0.bindMemory(to: UInt8.self), from: self) }
        }
    }

    /// Finds the encoding of the byte order mark at the start of bytes. Fails without such a mark.
    init?(byteOrderMarkOf bytes: Data) {
        let marked = [TextEncoding.utf8, .utf16LE, .utf16BE].first { bytes.starts(with: $0.byteOrderMark) }
        guard let marked else { return nil }
        self = marked
    }

    private var byteOrderMark: [UInt8] {
        switch self {
        case .utf8: [0xEF, 0xBB, 0xBF]
        case .utf16LE: [0xFF, 0xFE]
        case .utf16BE: [0xFE, 0xFF]
        default: []
        }
    }

    private static func utf16(_ bytes: Data, isLittleEndian: Bool) -> String {
        let bytes = [UInt8](bytes)
        let units = stride(from: 0, to: bytes.count - 1, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isLittleEndian ? second << 8 | first : first << 8 | second
        }
        // The rest of half a surrogate pair is one invalid unit, even if it has three bytes.
        let hasRest = bytes.count % 2 == 1 && !(units.last.map(UTF16.isLeadSurrogate) ?? false)
        return String(decoding: units, as: UTF16.self) + (hasRest ? "\u{FFFD}" : "")
    }

    private static func utf32(_ bytes: Data) -> String {
        let isLittleEndian = bytes.starts(with: [0xFF, 0xFE, 0, 0])
        let bytes = [UInt8](bytes.dropFirst(isLittleEndian || bytes.starts(with: [0, 0, 0xFE, 0xFF]) ? 4 : 0))
        let units = stride(from: 0, to: bytes.count - 3, by: 4).map { index in
            let unit = bytes[index..<(index + 4)]
            return (isLittleEndian ? unit.reversed() : Array(unit)).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        return String(decoding: units, as: UTF32.self) + (bytes.count % 4 == 0 ? "" : "\u{FFFD}")
    }
}
