/// The bytes of a text, with methods that find positions for the redactor, such as the end of a value.
struct TextBytes {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var count: Int { bytes.count }
    subscript(place: Int) -> UInt8 { bytes[place] }
    subscript(range: Range<Int>) -> ArraySlice<UInt8> { bytes[range] }
    subscript(range: PartialRangeFrom<Int>) -> ArraySlice<UInt8> { bytes[range] }

    func has(_ byte: UInt8, at place: Int) -> Bool { place < bytes.count && bytes[place] == byte }

    func skippingSpace(from start: Int) -> Int { bytes[start...].firstIndex { !Self.isSpace($0) } ?? bytes.count }

    // MARK: names

    /// Finds the end of a name, without the backslashes of a following quote.
    func endOfName(from start: Int) -> Int {
        var end = bytes[start...].firstIndex { !Self.isName($0) } ?? bytes.count
        while end > start, bytes[end - 1] == UInt8(ascii: "\\") { end -= 1 }
        return end
    }

    func endOfBackslashes(from start: Int) -> Int { bytes[start...].firstIndex { $0 != UInt8(ascii: "\\") } ?? bytes.count }

    /// Finds a quote with the backslashes before it. Empty if there is none.
    func quotes(from start: Int) -> Range<Int> {
        let quote = endOfBackslashes(from: start)
        return isOpeningQuote(quote) ? start..<quote + 1 : start..<start
    }

    func isOpeningQuote(_ place: Int) -> Bool { has(UInt8(ascii: "\""), at: place) || has(UInt8(ascii: "'"), at: place) }

    /// Checks whether an unquoted name can be that of a line or a member: it is at the start, or it is not written like an ordinary word.
    func canBeginLine(_ name: Range<Int>) -> Bool {
        let before = bytes[..<name.lowerBound].lastIndex { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        guard let before else { return true }
        if "\r\n{,(".utf8.contains(bytes[before]) { return true }
        // The element of a list in YAML.
        if bytes[before] == UInt8(ascii: "-"), before == 0 || "\r\n ".utf8.contains(bytes[before - 1]) { return true }
        if bytes[name].contains(where: { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }) { return true }
        return ["authorization", "cookie"].contains(String(decoding: bytes[name], as: UTF8.self).lowercased())
    }

    // MARK: values

    /// Finds the end of a quoted text. Each level of quoting doubles the backslashes and adds one: `"`, `\"`, `\\\"`.
    /// - Parameters:
    ///   - start: The position after the opening quote.
    ///   - quote: The opening quote.
    ///   - escapes: The number of backslashes before it.
    /// - Returns: The ends of the content, and of the whole with its quote.
    func endOfQuoted(from start: Int, _ quote: UInt8, escapes: Int) -> (content: Int, whole: Int) {
        var before = 0
        for place in start..<max(start, bytes.count) {
            if bytes[place] == UInt8(ascii: "\\") {
                before += 1
                continue
            }
            if bytes[place] == quote {
                // The enclosing text ends here.
                if before < escapes { return (place - before, place - before) }
                let (levels, rest) = (before - escapes).quotientAndRemainder(dividingBy: escapes + 1)
                if rest == 0 && levels.isMultiple(of: 2) { return (place - escapes, place + 1) }
            }
            before = 0
        }
        return (bytes.count, bytes.count)
    }

    func hasLineBreak(in range: Range<Int>) -> Bool { bytes[range].contains { "\r\n".utf8.contains($0) } }

    /// Finds the end of a JSON value: a string, an array or an object with its strings, or a word.
    func endOfValue(from start: Int) -> Int {
        guard start < bytes.count else { return start }
        let opening = quotes(from: start)
        if !opening.isEmpty {
            return endOfQuoted(from: opening.upperBound, bytes[opening.upperBound - 1], escapes: opening.count - 1).whole
        }
        guard "{[".utf8.contains(bytes[start]) else { return bytes[start...].firstIndex { ",}]\r\n".utf8.contains($0) } ?? bytes.count }
        var place = start, nesting = 0
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): nesting += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                nesting -= 1
                if nesting == 0 { return place + 1 }
            case UInt8(ascii: "\\"), UInt8(ascii: "\""):
                let opening = quotes(from: place)
                if !opening.isEmpty, bytes[opening.upperBound - 1] == UInt8(ascii: "\"") {
                    place = endOfQuoted(from: opening.upperBound, UInt8(ascii: "\""), escapes: opening.count - 1).whole
                    continue
                }
            default: break
            }
            place += 1
        }
        return place
    }

    /// Finds the end of the value of a pair such as `a=b`. A semicolon ends the value if another pair follows. Outside of queries, the end
    /// of the line ends it. In text that was JSON, a quote ends it.
    ///
    /// A query has no line break. If one follows the value, other text follows, in which `&` and `;` may mean anything: the value then ends
    /// with the text.
    func endOfPair(from start: Int, isQuery: Bool, stopsAtQuote: Bool) -> Int {
        var place = start
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "\n") where isQuery && !stopsAtQuote, UInt8(ascii: "\r") where isQuery && !stopsAtQuote: return bytes.count
            case UInt8(ascii: "&"): return place
            case UInt8(ascii: "\n") where !isQuery, UInt8(ascii: "\r") where !isQuery: return place
            case UInt8(ascii: "\"") where stopsAtQuote: return place
            case UInt8(ascii: ";"):
                let next = bytes[(place + 1)...].firstIndex { "&;=\r\n".utf8.contains($0) } ?? bytes.count
                if has(UInt8(ascii: "="), at: next) { return place }
                place = next
            default: place += 1
            }
        }
        return place
    }

    func endOfLine(from start: Int) -> Int { bytes[start...].firstIndex { "\r\n".utf8.contains($0) } ?? bytes.count }

    /// Finds the end of percent-encoded text: white space, `&`, a quote or an angle bracket.
    func endOfEncoded(from start: Int) -> Int {
        bytes[start...].firstIndex { Self.isSpace($0) || "&\"'<>".utf8.contains($0) } ?? bytes.count
    }

    // MARK: URLs and XML

    /// A text without white space, quotes and angle brackets, in which URLs may lie.
    struct Word {
        var end = 0
        /// The position of its last `@`. `nil` if there is none.
        var lastAt: Int?
    }

    /// Finds the end of a word, and its last `@` after a position.
    func word(from start: Int) -> Word {
        let end = bytes[start...].firstIndex { Self.isSpace($0) || "\"<>`".utf8.contains($0) } ?? bytes.count
        return Word(end: end, lastAt: bytes[start..<end].lastIndex(of: UInt8(ascii: "@")))
    }

    /// Finds the user and the password after two slashes, which may be escaped as in JSON. `nil` if there are none.
    /// - Parameter word: The word that contains the slashes. It is found once for all of its slashes, because a text may consist of them.
    func userInformation(at slash: Int, in word: Word) -> Range<Int>? {
        let second = endOfBackslashes(from: slash + 1)
        guard has(UInt8(ascii: "/"), at: second), second < word.end else { return nil }
        return Self.endOfUser(in: bytes[(second + 1)..<word.end], lastAt: word.lastAt).map { second + 1..<$0 }
    }

    /// Finds the `@` that ends the user and the password. `nil` if there are none.
    /// - Parameters:
    ///   - text: The text from the authority to the end of the URL.
    ///   - lastAt: The position of the last `@` in the text, or before the text.
    static func endOfUser(in text: ArraySlice<UInt8>, lastAt: Int?) -> Int? {
        guard let lastAt, lastAt > text.startIndex else { return nil }
        let end = text.firstIndex { "/\\?#".utf8.contains($0) } ?? text.endIndex
        let authority = text[..<end]
        var at = authority.lastIndex(of: UInt8(ascii: "@"))
        let host = at.map { authority[($0 + 1)...] } ?? authority
        if host.first != UInt8(ascii: "["), let colon = host.firstIndex(of: UInt8(ascii: ":")) {
            let port = host[(colon + 1)...]
            // A port is not written in this way. The text is the beginning of a password that contains a delimiter.
            if port.isEmpty || port.contains(where: { !$0.isDigit }) { at = lastAt }
        }
        return at.flatMap { $0 > text.startIndex ? $0 : nil }
    }

    /// Reads the local name of an XML element. Empty if no element begins here.
    func elementName(at start: Int) -> [UInt8] {
        let tag = self.tag(at: start)
        return Array(tag.lastIndex(of: UInt8(ascii: ":")).map { tag[($0 + 1)...] } ?? tag)
    }

    /// Finds the attributes and the content of an XML element. Without an end tag they reach to the end of the text.
    func elementContent(at start: Int) -> Range<Int> {
        let tag = self.tag(at: start)
        if let close = bytes[tag.endIndex...].firstIndex(where: { "<>".utf8.contains($0) }), bytes[close - 1] == UInt8(ascii: "/") {
            return tag.endIndex..<close
        }
        let close = Array("</".utf8) + tag
        guard let end = bytes[tag.endIndex...].firstRange(of: close)?.lowerBound else { return tag.endIndex..<bytes.count }
        // An element inside it has the same name: one of the later tags ends it.
        guard bytes[tag.endIndex..<end].firstRange(of: Array("<".utf8) + tag) != nil else { return tag.endIndex..<end }
        return tag.endIndex..<(bytes.lastIndex(of: UInt8(ascii: "<")) ?? end)
    }

    private func tag(at start: Int) -> ArraySlice<UInt8> {
        bytes[(start + 1)...].prefix { Self.isName($0) || $0 == UInt8(ascii: ":") }
    }

    // MARK: bytes and encodings

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    static func startsJSON(_ byte: UInt8) -> Bool { "{[\"".utf8.contains(byte) }

    static func endsPair(_ byte: UInt8) -> Bool { isSpace(byte) || "&;,>)}]/?\"".utf8.contains(byte) }

    /// Checks whether a byte may occur in a name, encoded or not.
    static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
            true
        default: "_-.%[]$+~*\\".utf8.contains(byte)
        }
    }

    /// Decodes a name: removes percent-encoding, even if it was applied several times, and JSON escapes.
    static func decodedName(_ name: ArraySlice<UInt8>) -> [UInt8] {
        var text = String(decoding: name, as: UTF8.self)
        for _ in 0..<3 where text.utf8.contains(UInt8(ascii: "%")) { text = PercentEncoding.decode(text[...]) }
        let bytes = Array(text.utf8)
        return bytes.contains(UInt8(ascii: "\\")) ? unescaped(bytes[...], isNested: true) : bytes
    }

    /// Decodes the content of a JSON string. Invalid escapes stay unchanged.
    /// - Parameter isNested: True if several backslashes count as one, because the text is nested in strings.
    static func unescaped(_ text: ArraySlice<UInt8>, isNested: Bool = false) -> [UInt8] {
        guard text.contains(UInt8(ascii: "\\")) else { return Array(text) }
        var result: [UInt8] = []
        var units: [UInt16] = []
        func finishUnits() {
            if !units.isEmpty { result += Array(String(decoding: units, as: UTF16.self).utf8) }
            units = []
        }
        var place = text.startIndex
        while place < text.endIndex {
            guard text[place] == UInt8(ascii: "\\"), place + 1 < text.endIndex else {
                finishUnits()
                result.append(text[place])
                place += 1
                continue
            }
            place += 1
            while isNested, place + 1 < text.endIndex, text[place] == UInt8(ascii: "\\") { place += 1 }
            if text[place] == UInt8(ascii: "u"), let unit = hexUnit(text[(place + 1)...].prefix(4)) {
                units.append(unit)
                place += 5
                continue
            }
            finishUnits()
            result += unescaped(text[place])
            place += 1
        }
        finishUnits()
        return result
    }

    private static func hexUnit(_ digits: ArraySlice<UInt8>) -> UInt16? {
        guard digits.count == 4 else { return nil }
        return digits.reduce(0) { (unit: UInt16?, byte) in
            guard let unit, let digit = byte.hexDigitValue else { return nil }
            return unit << 4 | UInt16(digit)
        }
    }

    private static func unescaped(_ byte: UInt8) -> [UInt8] {
        switch byte {
        case UInt8(ascii: "b"): [0x08]
        case UInt8(ascii: "f"): [0x0C]
        case UInt8(ascii: "n"): [0x0A]
        case UInt8(ascii: "r"): [0x0D]
        case UInt8(ascii: "t"): [0x09]
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): [byte]
        default: [UInt8(ascii: "\\"), byte]
        }
    }

    /// Encodes the text as the content of a JSON string.
    static func escaped(_ text: [UInt8]) -> [UInt8] {
        text.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): [UInt8(ascii: "\\"), byte]
            case 0x0A: Array("\\n".utf8)
            case 0x0D: Array("\\r".utf8)
            case 0x09: Array("\\t".utf8)
            case ..<0x20: Array("\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8)
            default: [byte]
            }
        }
    }
}
