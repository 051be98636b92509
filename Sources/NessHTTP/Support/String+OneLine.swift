import Foundation

extension String {
    /// The text with its control characters escaped, and each run of white space replaced by one space.
    package var oneLine: String {
        var result = ""
        var isSpace = false
        for scalar in unicodeScalars {
            switch scalar {
            case " ", "\t", "\n", "\r":
                if !isSpace { result += " " }
                isSpace = true
                continue
            case _ where scalar.value < 32 || (127...159).contains(scalar.value) || scalar.value == 0x2028 || scalar.value == 0x2029:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
            isSpace = false
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
