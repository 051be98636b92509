import Foundation

/// Removes the values of secret names from a text.
///
/// The text may be JSON, a form, a query, lines such as header fields, XML, or prose that contains any of these. It may be cut off or
/// malformed: the redactor reads bytes and does not need valid syntax. JSON strings and percent-encoded text may contain such texts; the
/// redactor decodes and searches them, too. If the end of a value is unclear, the redactor hides more.
struct TextRedactor {
    static let mark = Array("<redacted>".utf8)
    /// The replacement for an XML element's content, with the end of its start tag.
    private static let hiddenContent = Array("><redacted>".utf8)
    /// The deepest nesting of texts that is searched. Deeper text is hidden, because each level costs a pass.
    private static let maximumDepth = 16

    private let secrets: SecretNames
    /// True in queries and forms, where more names are secret.
    private let isQuery: Bool
    private let depth: Int
    /// The text if it may be JSON, and whether it is once that was asked.
    private var candidate: [UInt8] = []
    private var isJSON: Bool?
    /// The number of bytes that were searched for the ends of words. Tests verify with it that no byte is searched again and again.
    private(set) var searchedCount = 0
    /// The hidden values, without quotes and escapes.
    private(set) var hidden: [[UInt8]] = []

    /// Makes a redactor.
    /// - Parameters:
    ///   - secrets: The secret names.
    ///   - isQuery: True for the text of a query or a form.
    init(_ secrets: SecretNames, isQuery: Bool = false) { self.init(secrets, isQuery: isQuery, depth: 0) }

    private init(_ secrets: SecretNames, isQuery: Bool, depth: Int) {
        self.secrets = secrets
        self.isQuery = isQuery
        self.depth = depth
    }

    /// Returns the text without the values of secret names.
    mutating func redacted(_ text: String) -> String { String(decoding: redacted(Array(text.utf8)), as: UTF8.self) }

    /// Returns the text without the values of secret names. The text is UTF-8 or another encoding that contains ASCII.
    mutating func redacted(_ text: [UInt8]) -> [UInt8] {
        guard depth < Self.maximumDepth else { return Self.mark }
        let start = text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let first = text[start...].first { !TextBytes.isSpace($0) }
        guard let first, TextBytes.startsJSON(first) else {
            isJSON = false
            return redacted(plain: TextBytes(text), wasJSON: false)
        }
        (candidate, isJSON) = (text, nil)
        // For text that is almost JSON, the second pass finds the values that the first one missed.
        return redacted(plain: TextBytes(redacted(json: TextBytes(text))), wasJSON: true)
    }

    /// Redacts a decoded text that is nested in this one.
    private mutating func nested(_ text: [UInt8]) -> [UInt8] {
        var redactor = TextRedactor(secrets, isQuery: isQuery, depth: depth + 1)
        let result = redactor.redacted(text)
        hidden += redactor.hidden
        searchedCount += redactor.searchedCount
        return result
    }

    /// Checks whether a name is secret, or a name in its brackets: `user[password]` is secret like `password`.
    private func isSecret(_ name: [UInt8]) -> Bool {
        let parts = name.split { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") }
        let names = parts.count > 1 ? parts + [name[...]] : parts
        return names.contains { secrets.containsParameter(String(decoding: $0, as: UTF8.self), isInQuery: isQuery) }
    }

    /// Finds the end of a JSON value. In text that is almost JSON, the end of a list or an object is unclear.
    private mutating func endOfValue(in text: TextBytes, from start: Int) -> Int {
        guard "{[".utf8.contains(text[start]) else {
            let end = text.endOfValue(from: start)
            return text.hasLineBreak(in: start..<end) ? text.count : end
        }
        let isJSON = isJSON ?? ((try? JSONValue(parsing: Data(candidate))) != nil)
        self.isJSON = isJSON
        return isJSON ? text.endOfValue(from: start) : text.count
    }

    private mutating func hide(_ value: ArraySlice<UInt8>) {
        hidden.append(TextBytes.unescaped(value))
        guard value.contains(UInt8(ascii: "\"")) else { return }
        hidden += value.split(separator: UInt8(ascii: "\"")).filter { $0.count > 2 }.map { TextBytes.unescaped($0) }
    }

    // MARK: JSON

    private mutating func redacted(json text: TextBytes) -> [UInt8] {
        var output: [UInt8] = []
        var place = 0
        while place < text.count {
            guard text[place] == UInt8(ascii: "\"") else {
                output.append(text[place])
                place += 1
                continue
            }
            let end = text.endOfQuoted(from: place + 1, UInt8(ascii: "\""), escapes: 0)
            let raw = text[place + 1..<end.content]
            let content = TextBytes.unescaped(raw)
            let shown = nested(content)
            output.append(UInt8(ascii: "\""))
            output += shown == content ? Array(raw) : TextBytes.escaped(shown)
            output += text[end.content..<end.whole]
            place = end.whole
            let colon = text.skippingSpace(from: place)
            guard end.whole > end.content, text.has(UInt8(ascii: ":"), at: colon) else { continue }
            let value = text.skippingSpace(from: colon + 1)
            output += text[place..<value]
            place = value
            guard value < text.count, isSecret(content) else { continue }
            place = endOfValue(in: text, from: value)
            hide(text[value..<place])
            output += Array("\"".utf8) + Self.mark + Array("\"".utf8)
        }
        return output
    }

    // MARK: any text

    private mutating func redacted(plain text: TextBytes, wasJSON: Bool) -> [UInt8] {
        var output: [UInt8] = []
        var place = 0
        // The end of the text that was already decoded and contained no secret.
        var decodedEnd = 0
        var word = TextBytes.Word()
        while place < text.count {
            let byte = text[place]
            if byte == UInt8(ascii: "/"), place >= word.end {
                word = text.word(from: place)
                searchedCount += word.end - place
            }
            if byte == UInt8(ascii: "/"), let user = text.userInformation(at: place, in: word) {
                output += text[place..<user.lowerBound] + Self.mark
                hide(text[user])
                place = user.upperBound
            } else if byte == UInt8(ascii: "<"), isSecret(text.elementName(at: place)) {
                let content = text.elementContent(at: place)
                hide(text[content])
                output += text[place..<content.lowerBound] + Self.hiddenContent
                place =
                    wasJSON && text[content].starts(with: Self.hiddenContent)
                    ? content.lowerBound + Self.hiddenContent.count : content.upperBound
            } else if TextBytes.isName(byte) {
                place = name(in: text, from: place, &decodedEnd, wasJSON: wasJSON, &output)
            } else {
                output.append(byte)
                place += 1
            }
        }
        return output
    }

    /// Reads a name or another word. If it is a secret name, reads its value, too.
    /// - Returns: The position after both.
    private mutating func name(
        in text: TextBytes, from start: Int, _ decodedEnd: inout Int, wasJSON: Bool, _ output: inout [UInt8]
    ) -> Int {
        let end = text.endOfName(from: start)
        guard end > start else {
            // The word consists of backslashes only.
            let end = text.endOfBackslashes(from: start)
            output += text[start..<end]
            return end
        }
        let quotes = text.quotes(from: end)
        let sign = text.skippingSpace(from: quotes.upperBound)
        // Ruby and PHP write `"name" => "value"`, which is read like a pair of JSON.
        let isArrow = text.has(UInt8(ascii: "="), at: sign) && text.has(UInt8(ascii: ">"), at: sign + 1)
        let isEqual = text.has(UInt8(ascii: "="), at: sign) && !isArrow
        let isColon = text.has(UInt8(ascii: ":"), at: sign) && (!quotes.isEmpty || text.canBeginLine(start..<end))
        if isEqual || isColon || isArrow, isSecret(TextBytes.decodedName(text[start..<end])) {
            let after = sign + (isArrow ? 2 : 1)
            let value = isEqual && !text.isOpeningQuote(text.skippingSpace(from: after)) ? after : text.skippingSpace(from: after)
            output += text[start..<value]
            guard value < text.count else { return value }
            // Quotes are ordinary characters in a query.
            let opening = isEqual && isQuery && !wasJSON ? value..<value : text.quotes(from: value)
            if wasJSON, text[opening.upperBound...].starts(with: Self.mark) {
                output += text[opening] + Self.mark
                return opening.upperBound + Self.mark.count
            }
            if isColon && quotes.isEmpty {
                // A block of YAML begins on the next line. It is not searched for its end.
                let end = "|>".utf8.contains(text[value]) ? text.count : text.endOfLine(from: value)
                hide(text[value..<end])
                output += Self.mark
                return end
            }
            return hideValue(in: text, from: value, opening, quotes: isEqual ? nil : text[quotes], wasJSON: wasJSON, &output)
        }
        if !isEqual, start >= decodedEnd, text[start..<end].contains(UInt8(ascii: "%")) {
            decodedEnd = text.endOfEncoded(from: start)
            let encoded = String(decoding: text[start..<decodedEnd], as: UTF8.self)
            let decoded = Array(PercentEncoding.decode(encoded[...]).utf8)
            let shown = decoded.elementsEqual(encoded.utf8) ? decoded : nested(decoded)
            if shown != decoded {
                output += PercentEncoding.encode(String(decoding: shown, as: UTF8.self)).utf8
                return decodedEnd
            }
        }
        output += text[start..<end]
        return end
    }

    /// Hides a value that ends before the end of its line.
    /// - Parameter quotes: The quote after a JSON name. `nil` for a pair such as `a=b`.
    /// - Returns: The position after the value.
    private mutating func hideValue(
        in text: TextBytes, from start: Int, _ opening: Range<Int>, quotes: ArraySlice<UInt8>?, wasJSON: Bool, _ output: inout [UInt8]
    ) -> Int {
        if opening.isEmpty {
            let end =
                quotes == nil
                ? text.endOfPair(from: start, isQuery: isQuery, stopsAtQuote: wasJSON) : endOfValue(in: text, from: start)
            hide(text[start..<end])
            output += (quotes ?? []) + Self.mark + (quotes ?? [])
            return end
        }
        let quoted = text.endOfQuoted(from: opening.upperBound, text[opening.upperBound - 1], escapes: opening.count - 1)
        hide(text[opening.upperBound..<quoted.content])
        output += text[opening] + Self.mark + text[opening]
        // A quote on another line, or one that does not end a value, does not close this value.
        let isItsQuote =
            quoted.whole == text.count
            || (TextBytes.endsPair(text[quoted.whole]) || quotes != nil)
                && !text.hasLineBreak(in: opening.upperBound..<quoted.content)
        if isItsQuote { return quoted.whole }
        hide(text[quoted.whole...])
        return text.count
    }
}
