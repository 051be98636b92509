import Foundation

extension TextEncoding {
    /// Decodes bytes. Each invalid unit becomes a U+FFFD, and a byte order mark of this encoding is removed.
    /// - Parameter bytes: The bytes.
    /// - Returns: The text. The time grows linearly with the number of bytes.
    package func decode(_ bytes: Data) -> String {
        let content = bytes.dropFirst(bytes.starts(with: byteOrderMark) ? byteOrderMark.count : 0)
        switch self {
        case .utf8: return String(decoding: content, as: UTF8.self)
        case .utf16LE, .utf16BE: return Self.decode(content, as: UTF16.self, isLittleEndian: self == .utf16LE)
        case .utf32:
            let isLittleEndian = content.starts(with: [0xFF, 0xFE, 0, 0])
            let hasMark = isLittleEndian || content.starts(with: [0, 0, 0xFE, 0xFF])
            return Self.decode(content.dropFirst(hasMark ? 4 : 0), as: UTF32.self, isLittleEndian: isLittleEndian)
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

    /// Decodes units of two or four bytes. The rest of a unit at the end is invalid.
    private static func decode<Codec: Unicode.Encoding>(_ bytes: Data, as codec: Codec.Type, isLittleEndian: Bool) -> String {
        let bytes = [UInt8](bytes), size = MemoryLayout<Codec.CodeUnit>.size
        let order: [Int] = isLittleEndian ? (0..<size).reversed() : Array(0..<size)
        let units = stride(from: 0, to: bytes.count - size + 1, by: size).map { start -> Codec.CodeUnit in
            order.reduce(Codec.CodeUnit(0)) { $0 << 8 | Codec.CodeUnit(bytes[start + $1]) }
        }
        // The rest of half a surrogate pair is one invalid unit, even if it has three bytes.
        let hasRest = bytes.count % size > 0 && (units.last as? UInt16).map(UTF16.isLeadSurrogate) != true
        return String(decoding: units, as: codec) + (hasRest ? "\u{FFFD}" : "")
    }
}
