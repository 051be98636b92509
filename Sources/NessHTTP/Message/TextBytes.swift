/// The bytes of a text, and the questions that a redactor asks about places in it: where a value ends, say.
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

    /// The end of a name, without the backslashes of a quote behind it.
    func endOfName(from start: Int) -> Int {
        var end = bytes[start...].firstIndex { !Self.isName($0) } ?? bytes.count
        while end > start, bytes[end - 1] == UInt8(ascii: "\\") { end -= 1 }
        return end
    }

    func endOfBackslashes(from start: Int) -> Int { bytes[start...].firstIndex { $0 != UInt8(ascii: "\\") } ?? bytes.count }

    /// A quote with the backslashes before it; empty where there is none.
    func quotes(from start: Int) -> Range<Int> {
        let quote = endOfBackslashes(from: start)
        return isOpeningQuote(quote) ? start..<quote + 1 : start..<start
    }

    func isOpeningQuote(_ place: Int) -> Bool { has(UInt8(ascii: "\""), at: place) || has(UInt8(ascii: "'"), at: place) }

    /// Checks whether a name without quotes can be that of a line or a member: it stands at its start, or no ordinary word is written so.
    func canBeginLine(_ name: Range<Int>) -> Bool {
        let before = bytes[..<name.lowerBound].lastIndex { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        guard let before else { return true }
        if "\r\n{,".utf8.contains(bytes[before]) { return true }
        if bytes[name].contains(where: { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }) { return true }
        return ["authorization", "cookie"].contains(String(decoding: bytes[name], as: UTF8.self).lowercased())
    }

    // MARK: values

    /// The end of a quoted text. Each level of quoting doubles the backslashes and adds one: `"`, `\"`, `\\\"`.
    /// - Parameters:
    ///   - start: The place behind the opening quote.
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
                // An outer text ends.
                if before < escapes { return (place - before, place - before) }
                let (levels, rest) = (before - escapes).quotientAndRemainder(dividingBy: escapes + 1)
                if rest == 0 && levels.isMultiple(of: 2) { return (place - escapes, place + 1) }
            }
            before = 0
        }
        return (bytes.count, bytes.count)
    }

    func hasLineBreak(in range: Range<Int>) -> Bool { bytes[range].contains { "\r\n".utf8.contains($0) } }

    /// The end of a value in JSON: of a string, an array or an object with its strings, or a word.
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

    /// The end of the value of a pair such as `a=b`. A semicolon ends it if another pair follows; outside of queries, the line does; in what was
    /// JSON, a quote does.
    func endOfPair(from start: Int, isQuery: Bool, stopsAtQuote: Bool) -> Int {
        var place = start
        while place < bytes.count {
            switch bytes[place] {
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

    /// The end of a text without what percent-encoding does not leave.
    func endOfEncoded(from start: Int) -> Int {
        bytes[start...].firstIndex { Self.isSpace($0) || "&\"'<>".utf8.contains($0) } ?? bytes.count
    }

    // MARK: URLs and XML

    /// The user and the password behind two slashes, which JSON may have escaped; `nil` if there are none.
    func userInformation(at slash: Int) -> Range<Int>? {
        let second = endOfBackslashes(from: slash + 1)
        guard has(UInt8(ascii: "/"), at: second) else { return nil }
        let end = bytes[(second + 1)...].firstIndex { Self.isSpace($0) || "/?#\"<>\\`".utf8.contains($0) } ?? bytes.count
        guard let at = bytes[(second + 1)..<end].lastIndex(of: UInt8(ascii: "@")), at > second + 1 else { return nil }
        return second + 1..<at
    }

    /// The local name of an element of XML; empty if none begins here.
    func elementName(at start: Int) -> [UInt8] {
        let tag = self.tag(at: start)
        return Array(tag.lastIndex(of: UInt8(ascii: ":")).map { tag[($0 + 1)...] } ?? tag)
    }

    /// The attributes and the content of an element of XML. They reach to the end of the text where the element has no end.
    func elementContent(at start: Int) -> Range<Int> {
        let tag = self.tag(at: start)
        if let close = bytes[tag.endIndex...].firstIndex(where: { "<>".utf8.contains($0) }), bytes[close - 1] == UInt8(ascii: "/") {
            return tag.endIndex..<close
        }
        return tag.endIndex..<(bytes[tag.endIndex...].firstRange(of: Array("</".utf8) + tag)?.lowerBound ?? bytes.count)
    }

    private func tag(at start: Int) -> ArraySlice<UInt8> {
        bytes[(start + 1)...].prefix { Self.isName($0) || $0 == UInt8(ascii: ":") }
    }

    // MARK: bytes and encodings

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    static func startsJSON(_ byte: UInt8) -> Bool { "{[\"".utf8.contains(byte) }

    static func endsPair(_ byte: UInt8) -> Bool { isSpace(byte) || "&;,>)}]/?\"".utf8.contains(byte) }

    /// Checks whether a byte may stand in a name, encoded or not.
    static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
            true
        default: "_-.%[]$+~*\\".utf8.contains(byte)
        }
    }

    /// A name without percent-encoding, also where it was encoded several times, and without the escapes of JSON.
    static func decodedName(_ name: ArraySlice<UInt8>) -> [UInt8] {
        var text = String(decoding: name, as: UTF8.self)
        for _ in 0..<3 where text.utf8.contains(UInt8(ascii: "%")) { text = PercentEncoding.decode(text[...]) }
        let bytes = Array(text.utf8)
        return bytes.contains(UInt8(ascii: "\\")) ? unescaped(bytes[...], isNested: true) : bytes
    }

    /// The text that a JSON string stands for. What is no escape is left as it is.
    /// - Parameter isNested: True if any number of backslashes is one: the text lies in strings in strings.
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

    /// The text as the content of a JSON string.
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
