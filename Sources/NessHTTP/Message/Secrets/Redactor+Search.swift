import Foundation

// The search of strings that are neither JSON nor parameters. It does not parse their notation.

extension Redactor {
    /// Checks whether a string may contain a secret, so that it must not be shown.
    ///
    /// In one line of prose a secret name counts if a `:` or `=` follows it: "invalid token" is shown, and "token: x" is not. In longer
    /// text and in markup any secret name counts. The text is also searched with its percent-encoding and its JSON escapes decoded, up to
    /// three times. Text that is still encoded then counts as secret.
    /// - Parameter byAnyName: True if any secret name counts. `nil` to decide by the text.
    package func holdsSecret(_ text: String, byAnyName: Bool? = nil, isQuery: Bool = false) -> Bool {
        // A fast path: most strings contain none of these characters.
        guard names.mayContain(text) || text.utf8.contains(where: { "%\\@".utf8.contains($0) }) else { return false }
        var bytes = Array(text.utf8)
        let isLong = ["\r", "\n", "</", "/>", "\">", "'>"].contains { bytes.firstRange(of: $0.utf8) != nil }
        let byAnyName = byAnyName ?? isLong
        for _ in 0..<4 {
            if hasSecretName(bytes, byAnyName: byAnyName, isQuery: isQuery) || Self.hasUser(bytes) { return true }
            guard bytes.contains(where: { "%\\".utf8.contains($0) }) else { return false }
            let decoded = Self.decoded(bytes)
            if decoded == bytes { return false }
            let plain = String(decoding: decoded, as: UTF8.self)
            if masked(plain) != plain { return true }
            bytes = decoded
        }
        return true
    }

    private func hasSecretName(_ text: [UInt8], byAnyName: Bool, isQuery: Bool) -> Bool {
        var place = 0
        while let start = text[place...].firstIndex(where: Self.isName) {
            place = text[start...].firstIndex { !Self.isName($0) } ?? text.count
            guard isSecret(String(decoding: text[start..<place], as: UTF8.self), isQuery: isQuery) else { continue }
            if byAnyName { return true }
            let sign = text[place...].drop { Self.isSpace($0) || "\"'\\)".utf8.contains($0) }
            guard let first = sign.first, ":=".utf8.contains(first) else { continue }
            // The value was redacted before, as in an error's description inside another string.
            let value = sign.dropFirst().drop { Self.isSpace($0) || "\"'\\".utf8.contains($0) }
            let isMarked = value.starts(with: Self.mark.utf8) && value.dropFirst(Self.mark.utf8.count).first.map(Self.isName) != true
            if !isMarked { return true }
        }
        return false
    }

    /// Decodes percent-encoding and the escapes of JSON once. White space takes the place of an escaped control character.
    private static func decoded(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var place = 0
        func number(at start: Int, _ count: Int) -> Int? {
            let digits = text[start...].prefix(count).compactMap(\.hexDigitValue)
            return digits.count == count ? digits.reduce(0) { $0 << 4 | Int($1) } : nil
        }
        while place < text.count {
            if text[place] == UInt8(ascii: "%"), let byte = number(at: place + 1, 2) {
                result.append(UInt8(byte))
                place += 3
            } else if text[place] == UInt8(ascii: "\\"), place + 1 < text.count {
                // Two escapes may be one character (UTF-16).
                var units: [UInt16] = []
                while text[place...].starts(with: #"\u"#.utf8), let unit = number(at: place + 2, 4) {
                    units.append(UInt16(unit))
                    place += 6
                }
                result += String(decoding: units, as: UTF16.self).utf8
                guard units.isEmpty else { continue }
                let escaped = text[place + 1]
                result.append("bfnrt".utf8.contains(escaped) ? UInt8(ascii: " ") : escaped)
                place += 2
            } else {
                result.append(text[place])
                place += 1
            }
        }
        return result
    }

    /// Checks whether the name of a parameter is secret, even if it was encoded up to three times. One that is still encoded then counts as
    /// secret.
    func isSecretName(_ name: Substring.UTF8View) -> Bool {
        var name = Array(name)
        for _ in 0..<4 {
            let decoded = Self.decoded(name)
            if decoded == name { return isSecret(String(decoding: name, as: UTF8.self), isQuery: true) }
            name = decoded
        }
        return true
    }

    // MARK: users in URLs

    /// Checks whether a string contains a URL with a user.
    static func hasUser(_ text: [UInt8]) -> Bool {
        text.split { isSpace($0) || "\"<>`".utf8.contains($0) }.contains { word in
            guard let lastAt = word.lastIndex(of: UInt8(ascii: "@")) else { return false }
            return (word.startIndex..<lastAt).contains { place in
                word[place] == UInt8(ascii: "/") && word[place + 1] == UInt8(ascii: "/")
                    && endOfUser(in: word[(place + 2)...], lastAt: lastAt) != nil
            }
        }
    }

    /// Finds the user and the password before a host.
    ///
    /// The scheme and the slashes may be missing, as in `user:password@host`. Without slashes, only a name with a password counts as a
    /// user.
    static func userInformation(in text: Substring.UTF8View) -> Range<Substring.Index>? {
        let isSlash: (UInt8) -> Bool = { "/\\".utf8.contains($0) }
        var rest = text.drop(while: isSpace)
        let scheme = rest.prefix { isName($0) || $0 == UInt8(ascii: "+") }
        let afterScheme = rest[scheme.endIndex...].dropFirst()
        let hasScheme =
            !scheme.isEmpty && rest[scheme.endIndex...].first == UInt8(ascii: ":") && afterScheme.first.map(isSlash) == true
        if hasScheme { rest = afterScheme }
        let slashes = rest.prefix(while: isSlash).count
        // Without a scheme, one slash starts a path.
        if slashes == 1 && !hasScheme { return nil }
        rest = rest.dropFirst(slashes)
        guard let end = endOfUser(in: rest, lastAt: rest.lastIndex(of: UInt8(ascii: "@"))) else { return nil }
        return slashes > 0 || rest[..<end].contains(UInt8(ascii: ":")) ? rest.startIndex..<end : nil
    }

    /// Finds the `@` that ends the user and the password. `nil` without a user.
    /// - Parameters:
    ///   - text: The text from the authority to the end of the URL.
    ///   - lastAt: The position of the last `@` in the text. `nil` if it has none.
    private static func endOfUser<Text: BidirectionalCollection<UInt8>>(in text: Text, lastAt: Text.Index?) -> Text.Index?
    where Text.SubSequence: BidirectionalCollection {
        guard let lastAt else { return nil }
        let authority = text.prefix { !"/\\?#".utf8.contains($0) }
        var at = authority.lastIndex(of: UInt8(ascii: "@"))
        let host = authority[(at.map { authority.index(after: $0) } ?? authority.startIndex)...]
        if host.first != UInt8(ascii: "["), let colon = host.firstIndex(of: UInt8(ascii: ":")) {
            let port = host[colon...].dropFirst()
            // A port has only digits. So the text is the start of a password that contains a delimiter.
            if port.isEmpty || port.contains(where: { !$0.isDigit }) { at = lastAt }
        }
        return at.flatMap { $0 > text.startIndex ? $0 : nil }
    }

    // MARK: bytes

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// Checks whether a byte may occur in a name.
    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
            true
        default: "_-.[]".utf8.contains(byte)
        }
    }
}
