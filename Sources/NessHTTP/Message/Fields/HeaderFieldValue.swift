/// Reads the values of header fields by the rules that all fields share (RFC 9110, 5.6): lists, parameters, tokens and quoted strings.
///
/// A value of this type is a position in a field's value, and moves to the end. It works on bytes, so that a combining character hides no
/// delimiter, and reads each byte once. It is as lenient as servers are: a quoted string without an end reaches to the end of the value.
package struct HeaderFieldValue {
    private var rest: Substring.UTF8View
    /// True once a list contained a quote without an end. Such a quote must not hide the members after it.
    private var ignoresQuotes = false

    /// Starts at the beginning of a value.
    /// - Parameter value: The field's value.
    package init(_ value: some StringProtocol) { rest = Substring(value).utf8 }

    // MARK: whole values

    /// Reads a comma-separated list (RFC 9110, 5.6.1).
    /// - Parameter value: The field's value.
    /// - Returns: The members without surrounding white space. A comma in a quoted string does not separate members, and empty members do
    ///   not count.
    package static func members(_ value: some StringProtocol) -> [String] {
        var reader = HeaderFieldValue(value)
        var members: [String] = []
        while !reader.isAtEnd {
            let member = reader.text { $0 == comma }
            if !member.isEmpty { members.append(member) }
            reader.take(comma)
        }
        return members
    }

    /// Reads the parameters after the first `;` (RFC 9110, 5.6.6).
    /// - Parameter value: The field's value.
    /// - Returns: The parameters in order: names in lower case, values without quotes. A name without `=` is left out.
    package static func parameters(_ value: some StringProtocol) -> [(name: String, value: String)] {
        var reader = HeaderFieldValue(value)
        var parameters: [(name: String, value: String)] = []
        reader.skip { $0 != semicolon }
        while reader.take(semicolon) {
            let name = reader.word { $0 == equals || $0 == semicolon }
            guard reader.take(equals) else { continue }
            parameters.append((name.asciiLowercased, reader.value { $0 == semicolon }))
            reader.skip { $0 != semicolon }
        }
        return parameters
    }

    /// Reads the text before the first parameter: for a Content-Type, the media type.
    /// - Parameter value: The field's value.
    /// - Returns: The text without surrounding white space.
    package static func withoutParameters(_ value: some StringProtocol) -> String {
        var reader = HeaderFieldValue(value)
        return reader.word { $0 == semicolon }
    }

    /// Reads a whole number without a sign, such as a number of seconds (RFC 9111, 1.2.2).
    /// - Parameter text: The digits, without other characters.
    /// - Returns: The number, or `Int64.max` if it is larger. `nil` for anything but digits.
    package static func number(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return nil }
        return Int64(text) ?? .max
    }

    /// Reads a Content-Length. Several equal values count as one (RFC 9110, 8.6).
    /// - Parameter value: The field's value, all its lines joined.
    /// - Returns: The length. `nil` for anything that is not one length below `Int64.max`.
    package static func length(_ value: String) -> Int64? {
        if let length = number(value) { return length < .max ? length : nil }
        let values = Set(members(value))
        guard values.count == 1, let length = values.first.flatMap(number), length < .max else { return nil }
        return length
    }

    // MARK: step by step

    /// True at the end of the value.
    package var isAtEnd: Bool { rest.isEmpty }

    /// Moves past the next byte if it is the one given.
    /// - Returns: True if it was.
    @discardableResult package mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest.removeFirst()
        return true
    }

    /// Moves to the first byte that the closure does not accept.
    package mutating func skip(_ isSkipped: (UInt8) -> Bool) { rest = rest.drop(while: isSkipped) }

    /// Moves past spaces and tabs.
    package mutating func skipSpace() { skip(Self.isSpace) }

    /// Reads up to a delimiter, and treats quotes as ordinary characters.
    /// - Parameter isDelimiter: Returns true for the bytes that end the word. The position is then before the delimiter.
    /// - Returns: The text without surrounding white space.
    package mutating func word(upTo isDelimiter: (UInt8) -> Bool) -> String {
        let end = rest.firstIndex(where: isDelimiter) ?? rest.endIndex
        let text = rest[..<end]
        rest = rest[end...]
        return Self.trimmed(text)
    }

    /// Reads a quoted string, or a word up to a delimiter.
    /// - Parameters:
    ///   - keepsEscapes: True to return text that can be quoted again: the backslashes of a quoted string stay, and those of a word are
    ///     escaped.
    ///   - isDelimiter: Returns true for the bytes that end a word.
    /// - Returns: The text, without quotes.
    package mutating func value(keepsEscapes: Bool = false, upTo isDelimiter: (UInt8) -> Bool) -> String {
        skipSpace()
        guard take(Self.quote) else {
            let word = word(upTo: isDelimiter)
            return keepsEscapes ? String(decoding: word.utf8.flatMap { $0 == Self.backslash ? [$0, $0] : [$0] }, as: UTF8.self) : word
        }
        var text: [UInt8] = []
        while let byte = rest.popFirst(), byte != Self.quote {
            if byte != Self.backslash {
                text.append(byte)
            } else if let escaped = rest.popFirst() {
                text += keepsEscapes ? [byte, escaped] : [escaped]
            } else if !keepsEscapes {
                text.append(byte)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads up to a delimiter outside of quoted strings, which stay unchanged.
    private mutating func text(upTo isDelimiter: (UInt8) -> Bool) -> String {
        let start = rest.startIndex
        var isQuoted = false, isEscaped = false
        let end = rest.firstIndex { byte in
            if isEscaped {
                isEscaped = false
            } else if isQuoted && byte == Self.backslash {
                isEscaped = true
            } else if byte == Self.quote && !ignoresQuotes {
                isQuoted.toggle()
            }
            return !isQuoted && isDelimiter(byte)
        }
        if isQuoted {
            ignoresQuotes = true
            return word(upTo: isDelimiter)
        }
        let text = rest[start..<(end ?? rest.endIndex)]
        rest = rest[text.endIndex...]
        return Self.trimmed(text)
    }

    /// Removes the spaces and tabs around a value, which have no meaning (RFC 9110, 5.5).
    package static func trimmed(_ value: String) -> String {
        let bytes = value.utf8
        guard let first = bytes.first, let last = bytes.last, isSpace(first) || isSpace(last) else { return value }
        return trimmed(value[...].utf8)
    }

    private static func trimmed(_ text: Substring.UTF8View) -> String {
        let start = text.drop(while: isSpace)
        guard let last = start.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(Substring(start[...last]))
    }

    package static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    package static let comma = UInt8(ascii: ",")
    package static let semicolon = UInt8(ascii: ";")
    package static let equals = UInt8(ascii: "=")
    package static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")
}

extension HTTPHeaders {
    /// Reads the members of all values of a field that is a list.
    /// - Parameter name: The field's name.
    package func members(of name: String) -> [String] { values(for: name).flatMap { HeaderFieldValue.members($0) } }
}
