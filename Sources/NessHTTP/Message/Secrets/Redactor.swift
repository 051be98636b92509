import Foundation

/// Shows URLs, header fields and other strings without secrets. Errors, logs, `curl` commands, recordings and descriptions use it.
///
/// In URLs, header fields, forms and JSON, the values of secret names are hidden. Any other string is hidden as a whole if it contains a
/// secret name, because it is unknown where the value ends. The values that a request sent as secrets are masked wherever they appear.
package struct Redactor {
    package static let mark = "<redacted>"
    /// The deepest nesting of strings in parameters and JSON strings that is decoded. Deeper text is hidden, because each level costs a
    /// pass.
    private static let maximumDepth = 8
    /// The number of bytes of a request's body that are searched for secrets.
    private static let searchedLength = 1 << 16

    package let names: SecretNames
    private var values = SecretValues()
    /// Called with each value that is hidden for its name.
    private var didHide: (String) -> Void = { _ in }

    /// Makes a redactor.
    /// - Parameters:
    ///   - names: The secret names.
    ///   - requests: The requests whose secrets are masked.
    package init(_ names: SecretNames = SecretNames(), sentBy requests: [HTTPRequest] = []) {
        self.names = names
        var values = SecretValues()
        for request in requests {
            var reader = Redactor(request.secrets)
            reader.didHide = { values.insert($0) }
            _ = reader.redacted(request.url)
            for field in request.sentHeaders where request.secrets.containsHeader(field.name) { values.insert(field) }
            guard let body = request.body?.plainStart(upTo: Self.searchedLength) else { continue }
            let type = request.sentHeaders[HeaderName.contentType]
            if Self.hasParts(body, type) {
                for part in Self.parts(of: body) where reader.isSecret(part.name, isQuery: true) { values.insert(part.value) }
            } else {
                _ = reader.excerpt(of: body, contentType: type, limit: body.count)
            }
        }
        self.values = values
    }

    /// Redacts a string about a body, such as a decoder's error, which may repeat a value of the body's secret names.
    /// - Returns: The text; `nil` if the body is too long, or of a kind in which the values of names are unknown.
    func redacted(text: String, about body: Data, contentType: String?) -> String? {
        guard body.count <= 1 << 20 else { return nil }
        var reader = self, values = values
        reader.didHide = { values.insert($0) }
        guard reader.excerpt(of: body, contentType: contentType, limit: body.count).kind != .hidden else { return nil }
        reader.values = values
        return reader.redacted(text: text)
    }

    /// Returns a string with a mark in the place of each secret that was sent.
    package func masked(_ text: String) -> String { values.masked(text) }

    // MARK: header fields

    /// Returns the header fields in one line.
    package func redacted(_ headers: HTTPHeaders) -> String { headers.map(redactedLine).joined(separator: ", ") }

    /// Returns a header field with its name, in one line.
    package func redactedLine(_ field: HTTPHeaders.Field) -> String { "\(redactedName(field)): \(redacted(field))".oneLine }

    /// Returns the name of a header field. A name that can't be sent may be a whole field, with its secret.
    package func redactedName(_ field: HTTPHeaders.Field) -> String { field.name.isToken ? field.name : redacted(text: field.name) }

    /// Returns the value of a header field. A field that is not secret may contain a URL with secrets.
    package func redacted(_ field: HTTPHeaders.Field) -> String {
        if names.containsHeader(field.name) { return Self.mark }
        let name = field.name.lowercased()
        return Self.urlHeaders.contains(name)
            ? redacted(urlText: field.value) : redacted(text: field.value, isQuery: Self.linkHeaders.contains(name))
    }

    /// The header fields whose value is a URL, in lower case.
    private static let urlHeaders = Set(
        [HeaderName.location, HeaderName.contentLocation, HeaderName.referer, HeaderName.origin].map { $0.lowercased() })
    /// The header fields whose value contains URLs among other text, in lower case.
    private static let linkHeaders = Set([HeaderName.refresh, HeaderName.link].map { $0.lowercased() })

    // MARK: strings

    /// Returns a short string, such as a reason or a JSON string. JSON is shown without the values of secret names. Any other text is
    /// replaced by a mark if it may contain the value of a secret name.
    package func redacted(text: String, isQuery: Bool = false) -> String { redacted(text, isQuery: isQuery, depth: 0) }

    private func redacted(_ text: String, isQuery: Bool, depth: Int) -> String {
        guard depth < Self.maximumDepth else { return Self.mark }
        if let json = json(text, isQuery: isQuery, depth: depth) { return json.isCut ? json.text + "\u{2026}" : json.text }
        if !holdsSecret(text, isQuery: isQuery), !Self.isCredential(text) { return values.masked(text) }
        didHide(text)
        return Self.mark
    }

    /// Returns a string without secrets if it is JSON, or the start of JSON. JSON that is cut off is shown up to its last complete value.
    func json(_ text: String, isQuery: Bool = false, depth: Int = 0) -> (text: String, isCut: Bool)? {
        // White space and a byte order mark may come first.
        guard let first = text.utf8.first(where: { (0x21..<0x80).contains($0) }), "{[\"".utf8.contains(first) else { return nil }
        let bytes = Array(text.utf8)
        guard let scalars = JSONReader.scalars(of: bytes) else { return nil }
        var output: [UInt8] = []
        var copiedEnd = 0
        var nextObjects = secretObjects(scalars, isQuery)[...]
        // The end of the secret objects so far. The `value` of an object inside them is hidden as well.
        var secretEnd = 0
        func replace(_ range: Range<Int>, with text: String) {
            output += bytes[copiedEnd..<range.lowerBound] + JSONWriter.text(text)
            copiedEnd = range.upperBound
        }
        for scalar in scalars.list {
            guard scalar.range.lowerBound >= copiedEnd else {
                if scalar.value == nil { didHide(scalar.text) }
                continue
            }
            let shown = redacted(scalar.text, isQuery: isQuery, depth: depth + 1)
            if shown != scalar.text { replace(scalar.range, with: shown) }
            guard let value = scalar.value else { continue }
            while let object = nextObjects.first, object.lowerBound < value.lowerBound {
                secretEnd = max(secretEnd, object.upperBound)
                nextObjects.removeFirst()
            }
            let isSecret = isSecret(scalar.text, isQuery: isQuery)
            if isSecret || (value.lowerBound < secretEnd && scalar.text.equalsIgnoringCase("value")) { replace(value, with: Self.mark) }
        }
        output += bytes[..<(scalars.end ?? bytes.count)].dropFirst(copiedEnd)
        return (String(decoding: output, as: UTF8.self), scalars.end != nil)
    }

    /// Finds the objects whose `value` is secret by the name in another member, as in `{"value": "…", "name": "password"}`, in order. If
    /// the JSON is cut off, an object without its end may still get such a name.
    private func secretObjects(_ scalars: JSONScalars, _ isQuery: Bool) -> [Range<Int>] {
        // `nil` for an object without a name.
        var isSecret = [Bool?](repeating: nil, count: scalars.objects.count)
        var key: JSONScalars.Item?
        for scalar in scalars.list {
            if scalar.value != nil {
                key = scalar
            } else if let key, let object = key.object, ["name", "key"].contains(where: key.text.equalsIgnoringCase) {
                isSecret[object] = isSecret[object] == true || self.isSecret(scalar.text, isQuery: isQuery)
            }
        }
        return zip(scalars.objects, isSecret).filter { $1 ?? ($0.end == nil) }.map { object, _ in object.start..<(object.end ?? .max) }
    }

    /// Checks whether a string is a credential as in an `Authorization` field: a scheme, spaces and one token (RFC 9110, 11.4).
    static func isCredential(_ text: String) -> Bool {
        let words = text.utf8.split(separator: UInt8(ascii: " "))
        // A shorter word is a part of a sentence, as in "Bearer token".
        guard words.count == 2, words[1].count >= 6 else { return false }
        switch Substring(words[0]).asciiLowercased {
        case "bearer": return true
        case "basic": return Data(base64Encoded: String(Substring(words[1])))?.contains(UInt8(ascii: ":")) == true
        default: return false
        }
    }

    /// Checks whether a name is secret, or a part of it: `user[password]` is secret like `password`.
    func isSecret(_ name: String, isQuery: Bool) -> Bool {
        guard names.mayContain(name) else { return false }
        let parts = name.utf8.split { ".[]".utf8.contains($0) }.map { String(Substring($0)) }
        return (parts + [name]).contains { names.containsParameter($0, isInQuery: isQuery) }
    }

    // MARK: queries and forms

    /// Returns parameters such as `a=1&b=2;c=3` without the values of secret names. A secret value reaches to the next `&`, because it may
    /// contain a `;`.
    package func redacted(query: String) -> String { parameters(masked(query).utf8[...]) }

    /// - Parameter isPath: True for a segment of a path, in which a string without `=` is not a parameter.
    private func parameters(_ text: Substring.UTF8View, isPath: Bool = false) -> String {
        let shown = text.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { parameter in
            var shown: [String] = []
            for piece in parameter.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false) {
                guard let sign = piece.firstIndex(of: UInt8(ascii: "=")) else {
                    shown.append(isPath ? values.masked(String(Substring(piece))) : component(piece))
                    continue
                }
                let name = piece[..<sign], value = piece[sign...].dropFirst()
                if isSecretName(name) {
                    didHide(String(Substring(parameter[value.startIndex...])))
                    shown.append("\(component(name))=\(Self.mark)")
                    break
                }
                shown.append("\(component(name))=\(component(value))")
            }
            return shown.joined(separator: ";")
        }
        return shown.joined(separator: "&")
    }

    /// Returns a name or a value of a parameter, which may contain a string of any kind.
    private func component(_ text: Substring.UTF8View) -> String {
        let decoded = PercentEncoding.decode(Substring(text))
        let shown = redacted(decoded, isQuery: true, depth: 1)
        if shown == decoded { return String(Substring(text)) }
        return shown == Self.mark ? shown : PercentEncoding.encode(shown)
    }

    // MARK: URLs

    /// Returns the method and the URL of a request.
    func redacted(_ request: HTTPRequest) -> String { "\(request.method.rawValue.oneLine) \(redacted(request.url))" }

    /// Returns a URL in one line, without its user, its password and the values of secret parameters.
    package func redacted(_ url: URL) -> String { redacted(urlText: url.absoluteString) }

    /// Redacts a string like a URL. The string may not be a valid URL.
    package func redacted(urlText text: String) -> String {
        var rest = masked(text).utf8[...]
        var shown = ""
        if let user = Self.userInformation(in: rest) {
            for secret in SecretValues.secrets(ofUser: rest[user]) { didHide(secret) }
            shown = String(Substring(rest[..<user.lowerBound])) + Self.mark
            rest = rest[user.upperBound...]
        }
        // A path may contain parameters as well. Some authorization servers send tokens in fragments.
        let path = rest.prefix { !"?#".utf8.contains($0) }
        let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        shown += Self.hasUser(Array(path)) ? Self.mark : segments.map { parameters($0, isPath: true) }.joined(separator: "/")
        let query = rest[path.endIndex...].prefix { $0 != UInt8(ascii: "#") }
        for part in [query, rest[query.endIndex...]] where !part.isEmpty {
            shown += String(Substring(part.prefix(1))) + parameters(part.dropFirst())
        }
        return shown.oneLine
    }

    // MARK: bodies

    /// The start of a body, or a note in its place.
    package struct Excerpt {
        /// Tells whether the text is the start of the body. If not, it is a note about a secret body, or about one without text.
        package enum Kind { case shown, hidden, binary }
        package var kind = Kind.shown
        package var text: String
        /// True if the body is longer.
        package var isCut = false
    }

    /// Returns the start of a body. Text other than JSON and forms is not shown if it contains a secret name. Bytes that are not text and
    /// a body with parts are never shown.
    /// - Parameter limit: The approximate number of bytes that are read.
    package func excerpt(of body: Data, contentType: String?, limit: Int) -> Excerpt {
        // A secret value that is cut off at the limit is not recognized. So the end of the text, which may be a part of it, is left out.
        let margin = SecretValues.recognizedLength
        let limit = min(limit, body.count) + 4 * margin
        guard !Self.hasParts(body, contentType), let text = String(utf8: body, limit: limit), !text.utf8.contains(0) else {
            return Excerpt(kind: .binary, text: "(\(body.count) bytes)")
        }
        let isCut = body.count > limit
        let isForm =
            contentType?.asciiLowercased.utf8.contains("x-www-form-urlencoded".utf8) == true
            && !text.utf8.contains { $0 <= 0x20 || "\"'\\{}".utf8.contains($0) }
        if !isForm, let json = json(text) { return Excerpt(text: json.text, isCut: isCut || json.isCut) }
        if !isForm, holdsSecret(text, byAnyName: true) {
            let type = redacted(text: HeaderFieldValue.withoutParameters(contentType ?? "")).oneLine.prefix(100)
            return Excerpt(kind: .hidden, text: "(\(type.isEmpty ? "" : "\(type), ")\(body.count) bytes, not shown)")
        }
        let shown = isForm ? redacted(query: text) : values.masked(text)
        return Excerpt(text: isCut ? String(shown.dropLast(margin)) : shown, isCut: isCut)
    }

    /// Returns a whole body as text. `nil` if it is not text, or if a part of it is not shown.
    package func redacted(body: Data, contentType: String?) -> String? {
        let excerpt = excerpt(of: body, contentType: contentType, limit: body.count)
        return excerpt.kind == .shown && !excerpt.isCut ? excerpt.text : nil
    }

    /// Returns the start of a body in one line.
    package func snippet(of body: Data, contentType: String?) -> String {
        guard !body.isEmpty else { return "(no body)" }
        let excerpt = excerpt(of: body, contentType: contentType, limit: 4_096)
        let shown = excerpt.text.oneLine
        if excerpt.kind != .shown { return shown }
        return "\"\(shown.prefix(200))\(shown.count > 200 || excerpt.isCut ? "\u{2026}" : "")\""
    }

    /// Returns the names and the values of a form with parts.
    private static func parts(of body: Data) -> [(name: String, value: String)] {
        Array(body).split(separator: Array("\r\n--".utf8)).compactMap { part -> (name: String, value: String)? in
            let halves = part.split(separator: Array("\r\n\r\n".utf8), maxSplits: 1).map { String(decoding: $0, as: UTF8.self) }
            guard halves.count == 2 else { return nil }
            let name = HeaderFieldValue.parameters(halves[0]).first { $0.name == "name" }?.value ?? ""
            return (name: name, value: halves[1])
        }
    }

    /// Checks whether a body has several parts, by its type or, if the type does not say so, by its first KiB.
    package static func hasParts(_ body: Data, _ contentType: String?) -> Bool {
        if contentType?.asciiLowercased.startsExactly(with: "multipart/") == true { return true }
        let start = body.prefix(1_024).map(\.asciiLowercased)
        return start.drop(while: isSpace).starts(with: "--".utf8) && start.contains("content-disposition:".utf8)
    }
}

/// A value whose properties may be secret. Its mirror, which `dump` prints, shows the description only.
package protocol RedactedValue: CustomStringConvertible, CustomReflectable {
    /// The description, without secrets.
    var redactedDescription: String { get }
}

extension RedactedValue {
    /// The redacted description.
    public var description: String { redactedDescription }
    /// The description as the only child.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
