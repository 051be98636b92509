/// The header fields of a message, in order. A name may have several values (RFC 9110, section 5).
///
/// Names compare case-insensitively. The subscript joins several values with `", "`, as RFC 9110, 5.3 allows for every field but
/// `Set-Cookie`. It joins the values of `Cookie` with `"; "`. `values(for:)` keeps them apart.
///
/// ```swift
/// var headers: HTTPHeaders = ["Accept": "application/json"]
/// headers.add("a=1", for: "Cookie")
/// let accept = headers["accept"]   // "application/json"
/// ```
///
/// This type does not check or repair fields. Before a request is sent, a name or value that could inject a line fails with
/// `NessError.Kind.invalidRequest`.
public struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral {
    /// One field line. Its description hides the value if the name stands for a secret.
    public struct Field: Sendable, Equatable {
        /// The name, unchanged.
        public var name: String
        /// The value, unchanged.
        public var value: String

        /// Makes a field line.
        /// - Parameters:
        ///   - name: The field's name.
        ///   - value: The field's value.
        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Every field line, in the order in which they were added.
    package private(set) var fields: [Field] = []
    /// The names whose values are hidden in descriptions.
    package var secrets = SecretNames()

    /// Makes empty headers.
    public init() {}

    /// Makes headers from a literal. If a name occurs twice, both values are kept.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// Makes headers from a dictionary, sorted by name.
    /// - Parameter dictionary: Names and values.
    public init(_ dictionary: [String: String]) {
        fields = dictionary.sorted { $0.key < $1.key }.map { Field(name: $0.key, value: $0.value) }
    }

    /// The values of a name, joined with `", "`, or with `"; "` for `Cookie`. `nil` if the name is absent. Setting replaces all values of
    /// the name; setting `nil` removes them.
    public subscript(name: String) -> String? {
        get {
            let values = values(for: name)
            if values.count < 2 { return values.first }
            return values.joined(separator: name.equalsIgnoringCase(HeaderName.cookie) ? "; " : ", ")
        }
        set {
            guard let newValue else { return remove(name) }
            guard let first = fields.firstIndex(where: { $0.name.equalsIgnoringCase(name) }) else { return add(newValue, for: name) }
            fields[first].value = newValue
            let rest = fields.index(after: first)...
            fields[rest].removeAll { $0.name.equalsIgnoringCase(name) }
        }
    }

    /// Returns every value of a name, in order.
    /// - Parameter name: The field's name, in any case.
    public func values(for name: String) -> [String] {
        fields.lazy.filter { $0.name.equalsIgnoringCase(name) }.map(\.value)
    }

    /// Checks whether a name is present.
    /// - Parameter name: The field's name, in any case.
    public func contains(_ name: String) -> Bool { fields.contains { $0.name.equalsIgnoringCase(name) } }

    /// Adds a value after the name's existing values.
    /// - Parameters:
    ///   - value: The value.
    ///   - name: The field's name.
    public mutating func add(_ value: String, for name: String) { fields.append(Field(name: name, value: value)) }

    /// Continues the value of the last field line, after a space. Empty headers do not change.
    mutating func continueLast(with text: String) {
        guard let last = fields.indices.last, !text.isEmpty else { return }
        fields[last].value += fields[last].value.isEmpty ? text : " \(text)"
    }

    /// Makes room for a number of field lines.
    package mutating func reserveCapacity(_ count: Int) { fields.reserveCapacity(count) }

    /// Removes every value of a name.
    /// - Parameter name: The field's name, in any case.
    package mutating func remove(_ name: String) { fields.removeAll { $0.name.equalsIgnoringCase(name) } }

    /// Removes every value of some names.
    /// - Parameter names: The fields' names, in any case.
    package mutating func remove(_ names: [String]) {
        // A server may send tens of thousands of fields, and name as many. For a few names a set would cost more.
        if names.count <= 16 { return fields.removeAll { field in names.contains(where: field.name.equalsIgnoringCase) } }
        let names = Set(names.map { ExactText($0.asciiLowercased) })
        fields.removeAll { names.contains(ExactText($0.name.asciiLowercased)) }
    }

    /// Replaces the values of every name in `other`, and adds the names that are new.
    /// - Parameter other: The headers whose values are used.
    package mutating func merge(_ other: HTTPHeaders) {
        remove(other.fields.map(\.name))
        fields += other.fields
    }

    /// Returns a copy of these headers into which `other` was merged.
    /// - Parameter other: The headers whose values are used.
    package func merging(_ other: HTTPHeaders) -> HTTPHeaders {
        var merged = self
        merged.merge(other)
        return merged
    }
}

extension HTTPHeaders: RandomAccessCollection {
    /// The first position.
    public var startIndex: Int { 0 }
    /// The position after the last field.
    public var endIndex: Int { fields.count }
    /// The field line at a position.
    public subscript(position: Int) -> Field { fields[position] }
}

extension HTTPHeaders {
    /// The longest header of a response, in bytes: the fields as lines, without the status line. libcurl accepts no line longer than 100
    /// KiB.
    static let maximumByteCount = 100_000

    /// The length of the fields as lines, in bytes.
    var byteCount: Int { reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 } }

    /// Makes the error of a header or a trailer beyond `maximumByteCount`.
    static func tooLong(_ part: String) -> TransportError {
        TransportError(.malformedResponse, "the response's \(part) is longer than \(maximumByteCount) bytes")
    }
}

extension HTTPHeaders: Equatable {
    /// Checks whether both have the same values for the same names, in the same order. Values compare by their bytes. The order of
    /// different names and the case of names do not matter.
    public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
        guard left.count == right.count else { return false }
        func values(_ headers: HTTPHeaders) -> [ExactText: [ExactText]] {
            Dictionary(grouping: headers.fields) { ExactText($0.name.asciiLowercased) }.mapValues { $0.map { ExactText($0.value) } }
        }
        return values(left) == values(right)
    }
}

extension HTTPHeaders.Field {
    /// Checks whether both have the same bytes.
    public static func == (left: HTTPHeaders.Field, right: HTTPHeaders.Field) -> Bool {
        left.name.isExactly(right.name) && left.value.isExactly(right.value)
    }
}

extension HTTPHeaders.Field: RedactedValue {
    /// The name and the value. The value of a name that suggests a secret is hidden. `Ness.Configuration.secretNames` has no effect.
    package var redactedDescription: String { Redactor().redactedLine(self) }
}

extension HTTPHeaders: RedactedValue {
    /// Every field, without the values that are secret by `Ness.Configuration.secretNames`.
    package var redactedDescription: String { "[\(Redactor(secrets).redacted(self))]" }
}

extension HTTPHeaders {
    /// The media type of the content, in lower case and without parameters; `nil` without a Content-Type.
    var mediaType: String? {
        let type = values(for: HeaderName.contentType).first.map { HeaderFieldValue.withoutParameters($0).asciiLowercased } ?? ""
        return type.isEmpty ? nil : type
    }

    /// The character set of the content, in lower case; `nil` if the Content-Type names none.
    var charset: String? {
        let parameters = values(for: HeaderName.contentType).first.map { HeaderFieldValue.parameters($0) } ?? []
        return parameters.first { $0.name == "charset" }?.value.asciiLowercased
    }

    /// A Boolean value that indicates whether the media type is one of JSON: `application/json`, `text/json`, or a type that ends in
    /// `+json` (RFC 6839).
    var isJSON: Bool {
        guard let type = mediaType else { return false }
        let isOther = type.utf8.contains(UInt8(ascii: "/")) && type.endsExactly(with: "+json")
        return type == "application/json" || type == "text/json" || isOther
    }
}
