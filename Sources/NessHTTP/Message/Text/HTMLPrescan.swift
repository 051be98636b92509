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
        // The dashes at the start of a comment may also be those of its end.
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
        let name = readText { $0.isHTMLSpace || $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "/") }
        var attributes: [String: String] = [:]
        while let (name, value) = readAttribute() { if attributes[name] == nil { attributes[name] = value } }
        return name == "meta" && !isEnd ? Self.encoding(of: attributes) : nil
    }

    private static func encoding(of attributes: [String: String]) -> TextEncoding? {
        let content = attributes["http-equiv"] == "content-type" ? attributes["content"] : nil
        let parameters = HeaderFieldValue.parameters(";\(content ?? "")")
        guard let label = attributes["charset"] ?? parameters.first(where: { $0.name == "charset" })?.value else { return nil }
        switch TextEncoding(label: label) {
        // These bytes would not have been readable as ASCII.
        case .utf16LE, .utf16BE, .utf32: return .utf8
        case .userDefined: return .windows1252
        case let encoding: return encoding
        }
    }

    /// Reads an attribute. `nil` at the end of the tag.
    private mutating func readAttribute() -> (name: String, value: String)? {
        rest = rest.drop { $0.isHTMLSpace || $0 == UInt8(ascii: "/") }
        guard let first = rest.first, first != UInt8(ascii: ">") else { return nil }
        rest.removeFirst()
        let name = String(Unicode.Scalar(first)) + readText { $0.isHTMLSpace || "/>=".utf8.contains($0) }
        rest = rest.drop(while: \.isHTMLSpace)
        guard rest.first == UInt8(ascii: "=") else { return (name, "") }
        rest = rest.dropFirst().drop(while: \.isHTMLSpace)
        guard let quote = rest.first, "\"'".utf8.contains(quote) else {
            return (name, readText { $0.isHTMLSpace || $0 == UInt8(ascii: ">") })
        }
        rest.removeFirst()
        let value = readText { $0 == quote }
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
