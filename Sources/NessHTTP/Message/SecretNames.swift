import Foundation

/// Which names' values are secret: they are shown as `<redacted>` in every description, and not sent to another origin.
///
/// Names compare without regard to case. Besides those given, some are always secret.
public struct SecretNames: Sendable, Hashable {
    private var added: Set<String> = []

    /// The header fields that are always secret.
    package static let headers = Set(
        [HeaderName.authorization, HeaderName.proxyAuthorization, HeaderName.cookie, HeaderName.setCookie].map { $0.lowercased() })
    /// The parameters of queries, forms and JSON that are always secret.
    package static let parameters: Set<String> = [
        "access_token", "refresh_token", "id_token", "token", "password", "passwd", "secret", "client_secret", "api_key", "apikey",
        "signature", "sig", "code", "assertion",
    ]

    /// Only the names that are always secret.
    public init() {}

    /// Adds names.
    /// - Parameter names: Names of header fields or parameters, in any case.
    public mutating func insert(_ names: some Sequence<String>) { for name in names { added.insert(name.lowercased()) } }

    /// Whether a header field is secret.
    /// - Parameter name: Its name, in any case.
    package func containsHeader(_ name: String) -> Bool {
        let name = name.lowercased()
        return Self.headers.contains(name) || added.contains(name)
    }

    /// Whether a parameter is secret.
    /// - Parameter name: Its name, in any case.
    package func containsParameter(_ name: String) -> Bool {
        let name = name.lowercased()
        return Self.parameters.contains(name) || added.contains(name)
    }

    /// The names that were added.
    package var names: Set<String> { added }
}

// MARK: - showing without secrets

extension SecretNames {
    package static let mark = "<redacted>"

    /// A URL without user, password and the values of secret parameters.
    package func redacted(_ url: URL) -> String { redacted(urlText: url.absoluteString) }

    /// As `redacted(_:)`, for what may be no URL at all. Control characters are shown escaped, so that it stays one line.
    package func redacted(urlText text: String) -> String {
        var text = text
        // By bytes, here and below: what makes one character with a `=` or a `&` must not hide it.
        if let scheme = text.utf8.firstRange(of: "://".utf8) {
            let end = text.utf8[scheme.upperBound...].firstIndex { "/?#".utf8.contains($0) } ?? text.endIndex
            if let at = text.utf8[scheme.upperBound..<end].lastIndex(of: UInt8(ascii: "@")) {
                text.replaceSubrange(scheme.upperBound..<at, with: Self.mark)
            }
        }
        // Tokens come in queries and, from some authorization servers, in fragments.
        let (query, fragment) = (UInt8(ascii: "?"), UInt8(ascii: "#"))
        for mark in [fragment, query] {
            guard let start = text.utf8.firstIndex(of: mark) else { continue }
            let first = text.utf8.index(after: start)
            let end = mark == query ? text.utf8[first...].firstIndex(of: fragment) ?? text.endIndex : text.endIndex
            text.replaceSubrange(first..<end, with: redacted(pairs: text[first..<end]))
        }
        return text.oneLine
    }

    /// `a=1&b=2` without secret values.
    private func redacted(pairs: Substring) -> String {
        var result = ""
        var rest = pairs
        while true {
            let end = rest.utf8.firstIndex { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: ";") } ?? rest.endIndex
            result += redacted(pair: rest[..<end])
            guard end < rest.endIndex else { return result }
            let next = rest.utf8.index(after: end)
            result += rest[end..<next]
            rest = rest[next...]
        }
    }

    private func redacted(pair: Substring) -> String {
        guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { return String(pair) }
        let name = PercentEncoding.decode(pair[..<equals])
        // `user[password]` is as secret as `password`.
        let parts = name.utf8.split { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") }
        guard parts.contains(where: { containsParameter(String(Substring($0))) }) else { return String(pair) }
        return pair[..<pair.utf8.index(after: equals)] + Self.mark
    }

    /// Header fields for a person, one a line's worth, without secret values.
    package func redacted(_ headers: HTTPHeaders) -> String {
        headers.map { "\($0.name): \(redacted($0))".oneLine }.joined(separator: ", ")
    }

    /// The value of a header field without secrets: also without those in the query of a URL that it is.
    package func redacted(_ field: HTTPHeaders.Field) -> String {
        if containsHeader(field.name) { return Self.mark }
        return Self.urlHeaders.contains(field.name.lowercased()) ? redacted(urlText: field.value) : field.value
    }

    /// The header fields whose value is a URL, in lower case.
    private static let urlHeaders = Set(
        [
            HeaderName.location, HeaderName.contentLocation, HeaderName.referer, HeaderName.refresh, HeaderName.link, HeaderName.origin,
        ].map { $0.lowercased() })

    /// A whole body as text, without the values of secret parameters; nil where it is no text, or has parts of which each would have to be
    /// looked into.
    package func redacted(body: Data, contentType: String?) -> String? {
        let type = contentType?.lowercased() ?? ""
        guard !type.hasPrefix("multipart/"), let text = String(data: body, encoding: .utf8), !text.contains("\0") else { return nil }
        if type.contains("x-www-form-urlencoded") { return redacted(pairs: text[...]) }
        return redacted(body: body) ?? redacted(json: text)
    }

    /// The start of a body in one line, without the values of secret parameters.
    package func snippet(of body: Data, contentType: String?) -> String {
        guard !body.isEmpty else { return "(no body)" }
        // More than is shown, so that a name at the edge is seen whole.
        guard let text = String(validatingUTF8: body.prefix(4_096)) else { return "(\(body.count) bytes)" }
        let type = contentType?.lowercased() ?? ""
        var shown = type.contains("x-www-form-urlencoded") ? redacted(pairs: text[...]) : redacted(body: body) ?? redacted(json: text)
        shown = shown.oneLine
        let isCut = shown.count > 200 || body.count > 4_096
        return "\"\(shown.prefix(200))\(isCut ? "\u{2026}" : "")\""
    }

    /// A body that can be read as JSON, with whatever stands behind secret names replaced; as it came where there is none.
    private func redacted(body: Data) -> String? {
        guard body.count <= 1 << 16, let value = try? JSONValue(parsing: body) else { return nil }
        let shown = redacted(value)
        return shown == value ? String(decoding: body, as: UTF8.self) : (try? shown.encoded()).map { String(decoding: $0, as: UTF8.self) }
    }

    private func redacted(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map(redacted))
        case .object(let members):
            let isSecret: (String) -> Bool = { containsParameter($0) }
            return .object(
                Dictionary(uniqueKeysWithValues: members.map { ($0.key, isSecret($0.key) ? .string(Self.mark) : redacted($0.value)) }))
        default: return value
        }
    }

    /// Text with the values behind secret JSON names replaced. Works on any text: no parsing, nothing to fail.
    private func redacted(json text: String) -> String {
        let names = Self.parameters.union(added).sorted().map(NSRegularExpression.escapedPattern).joined(separator: "|")
        let pattern = "(\"(?:\(names))\"\\s*:\\s*)(\"(?:[^\"\\\\]|\\\\.)*\"?|[-0-9.eE+]+|[\\[{][\\s\\S]*)"
        guard let expression = try? NSRegularExpression(pattern: pattern, options: .caseInsensitive) else { return "" }
        let range = NSRange(text.startIndex..., in: text)
        return expression.stringByReplacingMatches(in: text, range: range, withTemplate: "$1\"\(Self.mark)\"")
    }
}

extension String {
    /// The text with its control characters escaped, and runs of white space made one space.
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

    /// The text of UTF-8 bytes whose last character may be cut; nil if it is not UTF-8 before that.
    fileprivate init?(validatingUTF8 bytes: Data) {
        for dropped in 0..<(bytes.count < 4_096 ? 1 : 4) {
            if let text = String(data: bytes.dropLast(dropped), encoding: .utf8) {
                self = text
                return
            }
        }
        return nil
    }
}

extension HTTPHeaders: CustomStringConvertible, CustomReflectable {
    /// Every field, without the values of those that are secret: always, or by `secretNames`.
    public var description: String {
        var secrets = SecretNames()
        secrets.insert(marked)
        return "[\(secrets.redacted(self))]"
    }
    /// Only the description, so that dumping headers shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["headers": description]) }
}
