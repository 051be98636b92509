import Foundation

extension Unicode.Scalar {
    /// True for a scalar that a reader cannot see, or that changes how a terminal or an editor shows its neighbors: control characters,
    /// line and paragraph separators, the controls of bidirectional text, and scalars without a width.
    ///
    /// A log, a description and a command show such a scalar as an escape. False for spaces.
    package var isInvisible: Bool {
        if isASCII { return value < 32 || value == 127 }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return properties.isDefaultIgnorableCodePoint
        }
    }

    /// True for a joiner or a selector of a glyph after another scalar beyond ASCII. Emoji need them, and so do the scripts of Persian and
    /// of India.
    fileprivate func isJoiner(after last: Unicode.Scalar?) -> Bool {
        guard (0x200C...0x200D).contains(value) || (0xFE0E...0xFE0F).contains(value), let last else { return false }
        return !last.isASCII && last != self
    }
}

extension String {
    /// The text with its invisible scalars escaped, as in `\u{202e}`, and each run of white space replaced by one space.
    package var oneLine: String {
        var result = ""
        for scalar in unicodeScalars {
            let last = result.unicodeScalars.last
            switch scalar {
            case " ", "\t", "\n", "\r":
                if last != " " { result += " " }
            case _ where scalar.isInvisible && !scalar.isJoiner(after: last): result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Decodes the start of UTF-8 bytes, which may be cut inside a character. Fails if the bytes are not UTF-8.
    init?(utf8 bytes: Data, limit: Int) {
        let start = bytes.prefix(limit)
        for dropped in 0..<(bytes.count > limit ? 4 : 1) {
            if let text = String(data: start.dropLast(dropped), encoding: .utf8) {
                self = text
                return
            }
        }
        return nil
    }
}
