import Foundation

// The only redactor: errors, logs, `curl` commands, recordings and descriptions show its output.

extension SecretNames {
    package static let mark = "<redacted>"

    // MARK: URLs

    /// Returns a URL in one line, without its user, its password and the values of secret parameters.
    package func redacted(_ url: URL) -> String { redacted(urlText: url.absoluteString) }

    /// Redacts a text like a URL. The text may not be a valid URL.
    package func redacted(urlText text: String) -> String {
        let bytes = Array(text.utf8)
        let user = Self.userInformation(in: bytes)
        let rest = bytes[(user?.upperBound ?? 0)...]
        let pathEnd = rest.firstIndex { "?#".utf8.contains($0) } ?? bytes.count
        let queryEnd = rest[pathEnd...].firstIndex(of: UInt8(ascii: "#")) ?? bytes.count
        var shown = user.map { Array(bytes[..<$0.lowerBound]) + TextRedactor.mark } ?? []
        // A path may contain parameters, too. Some authorization servers send tokens in fragments.
        let pathStart = user == nil ? 0 : rest.startIndex
        for part in [bytes[pathStart..<pathEnd], bytes[pathEnd..<queryEnd], bytes[queryEnd...]] {
            var redactor = TextRedactor(self, isQuery: true)
            let delimiter = part.prefix(part.first.map { "?#".utf8.contains($0) } == true ? 1 : 0)
            shown += delimiter + redactor.redacted(Array(part.dropFirst(delimiter.count)))
        }
        return String(decoding: shown, as: UTF8.self).oneLine
    }

    /// Finds the user and the password before a host.
    ///
    /// The scheme and the slashes may be missing, as in `user:password@host`. Without them, only a name with a password counts as a user.
    private static func userInformation(in text: [UInt8]) -> Range<Int>? {
        let isSlash: (UInt8) -> Bool = { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        var start = text.firstIndex { !TextBytes.isSpace($0) } ?? text.count
        let schemeEnd = text[start...].firstIndex { !TextBytes.isName($0) && $0 != UInt8(ascii: "+") } ?? text.count
        let hasScheme =
            schemeEnd > start && schemeEnd + 1 < text.count && text[schemeEnd] == UInt8(ascii: ":") && isSlash(text[schemeEnd + 1])
        if hasScheme { start = schemeEnd + 1 }
        let slashes = text[start...].prefix(while: isSlash).count
        if slashes == 1 && !hasScheme { return nil }
        start += slashes
        guard let end = TextBytes.endOfUser(in: text[start...], lastAt: text.lastIndex(of: UInt8(ascii: "@"))) else { return nil }
        return slashes > 1 || text[start..<end].contains(UInt8(ascii: ":")) ? start..<end : nil
    }

    // MARK: header fields

    /// Returns the header fields in one line.
    package func redacted(_ headers: HTTPHeaders) -> String { headers.map(redactedLine).joined(separator: ", ") }

    /// Returns a header field with its name, in one line.
    package func redactedLine(_ field: HTTPHeaders.Field) -> String { "\(redactedName(field)): \(redacted(field))".oneLine }

    /// Returns the name of a header field. A name that can't be sent may be a whole field, with its secret.
    package func redactedName(_ field: HTTPHeaders.Field) -> String { field.name.isToken ? field.name : redacted(text: field.name) }

    /// Returns the value of a header field. A field that is not secret may contain a URL with secrets.
    package func redacted(_ field: HTTPHeaders.Field) -> String {
        if containsHeader(field.name) { return Self.mark }
        let name = field.name.lowercased()
        return Self.urlHeaders.contains(name)
            ? redacted(urlText: field.value) : redacted(text: field.value, isQuery: Self.linkHeaders.contains(name))
    }

    /// The header fields whose value is a URL, in lower case.
    private static let urlHeaders = Set(
        [HeaderName.location, HeaderName.contentLocation, HeaderName.referer, HeaderName.origin].map { $0.lowercased() })
    /// The header fields whose value contains URLs among other text, in lower case.
    private static let linkHeaders = Set([HeaderName.refresh, HeaderName.link].map { $0.lowercased() })

    // MARK: texts and bodies

    /// Redacts a text of any kind.
    package func redacted(text: String, isQuery: Bool = false) -> String {
        var redactor = TextRedactor(self, isQuery: isQuery)
        return redactor.redacted(text)
    }

    /// Redacts bytes of any kind.
    package func redacted(bytes: Data) -> Data {
        var redactor = TextRedactor(self)
        return Data(redactor.redacted(Array(bytes)))
    }

    /// Redacts a text, and removes the values of a body's secret names from it: a decoder's error may repeat such a value.
    func redacted(text: String, about body: Data) -> String {
        guard body.count <= 1 << 20 else { return "the reason is not shown: the body is too long to tell what of it is secret" }
        var redactor = TextRedactor(self)
        _ = redactor.redacted(Array(body))
        var shown = redacted(text: text)
        let values = Set(redactor.hidden.map { $0.filter { $0 != UInt8(ascii: "\"") } }).map { String(decoding: $0, as: UTF8.self) }
        for value in values.sorted(by: { $0.utf8.count > $1.utf8.count }) {
            let value = value.trimmingCharacters(in: .whitespacesAndNewlines)
            // Values of one or two letters occur in any text.
            if value.utf8.count > 2 { shown = shown.replacing(value, with: Self.mark) }
        }
        return shown
    }

    /// Returns a whole body as redacted text. `nil` if the body is not text, or if it has parts, each of which would need its own
    /// redaction.
    package func redacted(body: Data, contentType: String?) -> String? {
        guard !Self.hasParts(body, contentType), let text = String(data: body, encoding: .utf8), !text.utf8.contains(0) else { return nil }
        return redacted(text: text, isQuery: Self.isForm(contentType))
    }

    /// Returns the start of a body as redacted text. `nil` in the same cases as `redacted(body:contentType:)`.
    /// - Parameter limit: The number of bytes that are read.
    /// - Returns: The text, and true if the body is longer.
    package func start(of body: Data, contentType: String?, limit: Int) -> (text: String, isCut: Bool)? {
        guard !Self.hasParts(body, contentType), let text = String(utf8: body, limit: limit), !text.utf8.contains(0) else { return nil }
        return (redacted(text: text, isQuery: Self.isForm(contentType)), body.count > limit)
    }

    /// Returns the start of a body in one line.
    package func snippet(of body: Data, contentType: String?) -> String {
        guard !body.isEmpty else { return "(no body)" }
        // More bytes than are shown, so that a name at the edge is complete.
        guard let start = start(of: body, contentType: contentType, limit: 4_096) else { return "(\(body.count) bytes)" }
        let shown = start.text.oneLine
        return "\"\(shown.prefix(200))\(shown.count > 200 || start.isCut ? "\u{2026}" : "")\""
    }

    /// Checks whether a body has several parts, by its type or, if the type does not say so, by its content.
    package static func hasParts(_ body: Data, _ contentType: String?) -> Bool {
        if contentType?.lowercased().hasPrefix("multipart/") == true { return true }
        let start = String(decoding: body.prefix(1_024), as: UTF8.self)
        return start.drop { $0.isWhitespace }.hasPrefix("--") && start.lowercased().contains("content-disposition:")
    }

    private static func isForm(_ contentType: String?) -> Bool {
        contentType?.lowercased().contains("x-www-form-urlencoded") == true
    }
}

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
    fileprivate init?(utf8 bytes: Data, limit: Int) {
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

extension HTTPHeaders: CustomStringConvertible, CustomReflectable {
    /// Every field, without the values that are secret by `SecretNames`.
    public var description: String { "[\(secrets.redacted(self))]" }
    /// Only the description, so that dumping headers shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["headers": description]) }
}
