import Foundation

/// Finds the encoding that an HTML page declares in a `<meta>` element within its first 1,024 bytes (WHATWG HTML, 13.2.3.2).
struct HTMLPrescan {
    private var rest: ArraySlice<UInt8>

    /// Returns the declared encoding. `nil` if the page declares none, or one that is unknown.
    static func encoding(of page: Data) -> TextEncoding? {
        var scan = HTMLPrescan(rest: page.prefix(1_024).map(\.asciiLowercased)[...])
        while true {
            scan.rest = scan.rest.drop { $0 != UInt8(ascii: "<") }
            if scan.rest.isEmpty { return nil }
            if let found = scan.readMarkup() { return found }
        }
    }

    /// Reads a comment or a tag. Returns the encoding that a `<meta>` declares.
    private mutating func readMarkup() -> TextEncoding? {
        rest.removeFirst()
        // The dashes at the start of a comment may be those of its end as well: `<!-->`.
        if rest.starts(with: "!--".utf8) {
            rest.removeFirst()
            while !rest.isEmpty, !rest.starts(with: "-->".utf8) { rest.removeFirst() }
            return nil
        }
        let isEnd = rest.first == UInt8(ascii: "/")
        if isEnd { rest.removeFirst() }
        guard let first = rest.first, first.isLowercaseLetter else {
            if isEnd || "!?".utf8.contains(rest.first ?? 0) { rest = rest.drop { $0 != UInt8(ascii: ">") } }
            return nil
        }
        let name = readText(upTo: { $0.isHTMLSpace || $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "/") })
        var attributes: [String: String] = [:]
        while let (name, value) = readAttribute() { if attributes[name] == nil { attributes[name] = value } }
        // A tag without an end may be cut, and its label with it.
        return name == "meta" && !isEnd && !rest.isEmpty ? Self.encoding(of: attributes) : nil
    }

    private static func encoding(of attributes: [String: String]) -> TextEncoding? {
        let content = attributes["http-equiv"] == "content-type" ? attributes["content"] : nil
        guard let label = attributes["charset"] ?? content.flatMap(label) else { return nil }
        switch TextEncoding(label: label) {
        // The page was readable as ASCII, so it is not in one of these encodings.
        case .utf16LE, .utf16BE, .utf32: return .utf8
        case .userDefined: return .windows1252
        case let encoding: return encoding
        }
    }

    /// Returns the label that the value of a `content` attribute names: after the first `charset` with a `=`, wherever that is (WHATWG
    /// HTML, 2.5.4).
    private static func label(in content: String) -> String? {
        var scan = HTMLPrescan(rest: Array(content.utf8)[...])
        while let name = scan.rest.firstRange(of: "charset".utf8) {
            scan.rest = scan.rest[name.upperBound...].drop(while: \.isHTMLSpace)
            guard scan.rest.first == UInt8(ascii: "=") else { continue }
            scan.rest = scan.rest.dropFirst().drop(while: \.isHTMLSpace)
            guard let quote = scan.rest.first, "\"'".utf8.contains(quote) else {
                return scan.readText(upTo: { $0.isHTMLSpace || $0 == UInt8(ascii: ";") })
            }
            scan.rest.removeFirst()
            return scan.rest.contains(quote) ? scan.readText(upTo: { $0 == quote }) : nil
        }
        return nil
    }

    /// Reads an attribute. `nil` at the end of the tag.
    private mutating func readAttribute() -> (name: String, value: String)? {
        rest = rest.drop { $0.isHTMLSpace || $0 == UInt8(ascii: "/") }
        guard let first = rest.first, first != UInt8(ascii: ">") else { return nil }
        rest.removeFirst()
        let name = String(Unicode.Scalar(first)) + readText(upTo: { $0.isHTMLSpace || "/>=".utf8.contains($0) })
        rest = rest.drop(while: \.isHTMLSpace)
        guard rest.first == UInt8(ascii: "=") else { return (name, "") }
        rest = rest.dropFirst().drop(while: \.isHTMLSpace)
        guard let quote = rest.first, "\"'".utf8.contains(quote) else {
            return (name, readText(upTo: { $0.isHTMLSpace || $0 == UInt8(ascii: ">") }))
        }
        rest.removeFirst()
        let value = readText(upTo: { $0 == quote })
        rest = rest.dropFirst()
        return (name, value)
    }

    private mutating func readText(upTo isEnd: (UInt8) -> Bool) -> String {
        let end = rest.firstIndex(where: isEnd) ?? rest.endIndex
        defer { rest = rest[end...] }
        return String(decoding: rest[..<end], as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isLowercaseLetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self }
}
