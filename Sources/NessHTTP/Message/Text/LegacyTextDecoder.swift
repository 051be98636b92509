import Foundation

/// Decodes bytes that are not in a Unicode encoding. This type splits the bytes into units, as the Encoding Standard does. Foundation knows
/// which characters a unit means.
///
/// Foundation gets each unit alone, because it rejects a whole string for one invalid unit. It gets equal units only once.
struct LegacyTextDecoder {
    private let encoding: TextEncoding
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var output: [UInt8] = []
    /// The characters of each unit, by its bytes as a number; `nil` for an invalid unit.
    private var meanings: [UInt32: String?] = [:]

    /// Decodes bytes.
    static func decode(_ bytes: UnsafeBufferPointer<UInt8>, from encoding: TextEncoding) -> String {
        var decoder = LegacyTextDecoder(encoding: encoding, bytes: bytes)
        if encoding == .iso2022JP { decoder.decodeISO2022JP() } else { decoder.decode() }
        return String(decoding: decoder.output, as: UTF8.self)
    }

    private init(encoding: TextEncoding, bytes: UnsafeBufferPointer<UInt8>) { (self.encoding, self.bytes) = (encoding, bytes) }

    private mutating func add(_ text: String?) { output += (text ?? "\u{FFFD}").utf8 }

    // MARK: units

    private mutating func decode() {
        while position < bytes.count {
            let byte = bytes[position]
            if byte < 0x80 {
                output.append(byte)
                position += 1
                continue
            }
            let (count, isWhole) = unit()
            let unit = bytes[position..<(position + count)]
            let text = isWhole ? meaning(of: unit) : nil
            add(text)
            // An ASCII byte after the start of an invalid unit of two or three bytes is a character.
            position += text == nil && isWhole && 2...3 ~= count && unit[position + count - 1] < 0x80 ? count - 1 : count
        }
    }

    /// Returns the number of bytes of the next unit, and whether it is whole.
    private func unit() -> (count: Int, isWhole: Bool) {
        let byte = bytes[position], rest = bytes[(position + 1)...].prefix(3)
        let isLead =
            switch encoding {
            case .gb18030, .gbk, .big5, .eucKR: 0x81...0xFE ~= byte
            case .shiftJIS: 0x81...0x9F ~= byte || 0xE0...0xFC ~= byte
            case .eucJP: 0x8E...0x8F ~= byte || 0xA1...0xFE ~= byte
            default: false
            }
        guard isLead, let second = rest.first else { return (1, !isLead) }
        if encoding == .eucJP, byte == 0x8F, 0xA1...0xFE ~= second { return rest.count > 1 ? (3, true) : (2, false) }
        guard encoding == .gb18030 || encoding == .gbk, second.isDigit else { return (2, true) }
        let digits = Array(rest)
        guard digits.count > 1 else { return (2, false) }
        guard 0x81...0xFE ~= digits[1] else { return (1, false) }
        guard digits.count > 2 else { return (3, false) }
        return digits[2].isDigit ? (4, true) : (1, false)
    }

    // MARK: meanings

    /// Returns the characters that a unit means. `nil` for an invalid unit.
    private mutating func meaning(of unit: some Collection<UInt8>) -> String? {
        let key = unit.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        if let known = meanings[key] { return known }
        let meaning = readMeaning(of: Array(unit))
        meanings[key] = .some(meaning)
        return meaning
    }

    private func readMeaning(of unit: [UInt8]) -> String? {
        let first = unit[0]
        switch (encoding, unit.count) {
        case (.userDefined, _): return Self.character(0xF700, first)
        case (.gb18030, 1), (.gbk, 1): return first == 0x80 ? "\u{20AC}" : nil
        case (.big5, 1), (.eucKR, 1), (.eucJP, 1): return nil
        case (.shiftJIS, 1) where first == 0x80: return "\u{80}"
        case (.eucJP, 2) where first == 0x8E: return 0xA1...0xDF ~= unit[1] ? Self.character(0xFEC0, unit[1]) : nil
        case (.eucJP, 3):
            let escaped = [0x1B, 0x24, 0x28, 0x44, unit[1] & 0x7F, unit[2] & 0x7F]
            return 0xA1...0xFE ~= unit[2] ? foundation(escaped, Self.jisX0212) : nil
        case (.eucJP, _), (.iso2022JP, _): return unit.allSatisfy { 0xA1...0xFE ~= $0 } ? foundation(Self.shiftJIS(unit)) : nil
        // Foundation fills the gaps of these encodings with characters for private use.
        case (.windows874, _) where first >= 0xA0, (.big5, _), (.eucKR, _):
            return foundation(unit).flatMap { $0.unicodeScalars.contains { 0xE000...0xF8FF ~= $0.value } ? nil : $0 }
        // The gaps of the encodings of Windows are control characters.
        default: return foundation(unit) ?? (first < 0xA0 && unit.count == 1 ? Self.character(0, first) : nil)
        }
    }

    /// ISO-2022-JP-1, the encoding of Foundation that has JIS X 0212.
    private static let jisX0212: UInt32 = 0x821

    private func foundation(_ unit: [UInt8], _ number: UInt32? = nil) -> String? {
        // Foundation marks the numbers of CoreFoundation with this bit.
        String(data: Data(unit), encoding: String.Encoding(rawValue: UInt(0x8000_0000 as UInt32 | (number ?? encoding.foundationNumber))))
    }

    private static func character(_ start: UInt32, _ byte: UInt8) -> String? { Unicode.Scalar(start + UInt32(byte)).map { String($0) } }

    /// Returns the place of two bytes of JIS X 0208 in Shift_JIS. There, Foundation has the characters that Windows added.
    private static func shiftJIS(_ unit: [UInt8]) -> [UInt8] {
        let (row, cell) = ((Int(unit[0]) - 0xA1) * 94 + Int(unit[1]) - 0xA1).quotientAndRemainder(dividingBy: 188)
        return [UInt8(row + (row < 0x1F ? 0x81 : 0xC1)), UInt8(cell + (cell < 0x3F ? 0x40 : 0x41))]
    }

    // MARK: ISO-2022-JP

    /// The characters that the bytes mean after an escape sequence.
    private enum Characters {
        case ascii, roman, katakana, kanji

        init?(escape: [UInt8]) {
            switch escape {
            case [0x28, 0x42]: self = .ascii
            case [0x28, 0x4A]: self = .roman
            case [0x28, 0x49]: self = .katakana
            case [0x24, 0x40], [0x24, 0x42]: self = .kanji
            default: return nil
            }
        }
    }

    private mutating func decodeISO2022JP() {
        var characters = Characters.ascii
        var followsEscape = false
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == 0x1B {
                let next = Characters(escape: Array(bytes[position...].prefix(2)))
                // An escape sequence without a character after it is invalid.
                if next == nil || followsEscape { add(nil) }
                followsEscape = next != nil
                characters = next ?? characters
                position += next == nil ? 0 : 2
                continue
            }
            followsEscape = false
            switch characters {
            case .roman where byte == 0x5C: add("\u{A5}")
            case .roman where byte == 0x7E: add("\u{203E}")
            case .ascii where byte < 0x80 && byte & 0xFE != 0x0E, .roman where byte < 0x80 && byte & 0xFE != 0x0E: output.append(byte)
            case .katakana where 0x21...0x5F ~= byte: add(Self.character(0xFF40, byte))
            case .kanji where 0x21...0x7E ~= byte && position < bytes.count && bytes[position] != 0x1B:
                add(bytes[position] < 0x80 ? meaning(of: [byte | 0x80, bytes[position] | 0x80]) : nil)
                position += 1
            default: add(nil)
            }
        }
    }
}
