/// The header fields of a message, in order, with as many values for a name as were given (RFC 9110, section 5).
///
/// Names compare without regard to case. Reading by subscript joins several values with `", "`, as RFC 9110 5.3 allows for
/// every field but `Set-Cookie`, and those of `Cookie` with `"; "`; `values(for:)` keeps them apart.
///
/// ```swift
/// var headers: HTTPHeaders = ["Accept": "application/json"]
/// headers.add("a=1", for: "Cookie")
/// headers["accept"]   // "application/json"
/// ```
///
/// Nothing is checked or repaired here: a name or a value that could inject a line is refused with
/// `NessError.invalidRequest` when the request is about to be sent.
public struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral {
    /// One field line.
    public struct Field: Sendable, Hashable {
        /// The name as it was given.
        public var name: String
        /// The value as it was given.
        public var value: String

        /// Makes a field line.
        /// - Parameters:
        ///   - name: The field's name.
        ///   - value: The field's value.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Every field line, in the order in which they were added.
    package private(set) var fields: [Field] = []
    /// The names that are secret when the fields are shown.
    package var secrets = SecretNames()

    /// No header fields.
    public init() {}

    /// Makes headers from a literal. A name that stands twice keeps both values.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// Makes headers from a dictionary, in the order of the names.
    /// - Parameter dictionary: Names and values.
    public init(_ dictionary: [String: String]) {
        fields = dictionary.sorted { $0.key < $1.key }.map { Field(name: $0.key, value: $0.value) }
    }

    /// The values of a name joined with `", "`, or `"; "` for `Cookie`; or nil where the name is absent. Setting replaces all of them;
    /// setting nil removes them.
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

    /// Every value of a name, in order.
    /// - Parameter name: The field's name, in any case.
    public func values(for name: String) -> [String] {
        fields.lazy.filter { $0.name.equalsIgnoringCase(name) }.map(\.value)
    }

    /// Whether a name is present.
    /// - Parameter name: The field's name, in any case.
    public func contains(_ name: String) -> Bool { fields.contains { $0.name.equalsIgnoringCase(name) } }

    /// Adds a value behind those the name already has.
    /// - Parameters:
    ///   - value: The value.
    ///   - name: The field's name.
    public mutating func add(_ value: String, for name: String) { fields.append(Field(name: name, value: value)) }

    /// Removes every value of a name.
    /// - Parameter name: The field's name, in any case.
    public mutating func remove(_ name: String) { fields.removeAll { $0.name.equalsIgnoringCase(name) } }

    /// Takes over every name of `other`, replacing the values that this has for it.
    /// - Parameter other: The headers that win.
    package mutating func merge(_ other: HTTPHeaders) {
        fields.removeAll { other.contains($0.name) }
        fields += other.fields
    }

    /// As `merge(_:)`, as a new value.
    /// - Parameter other: The headers that win.
    package func merging(_ other: HTTPHeaders) -> HTTPHeaders {
        var merged = self
        merged.merge(other)
        return merged
    }
}

extension HTTPHeaders: RandomAccessCollection {
    /// The first position.
    public var startIndex: Int { fields.startIndex }
    /// The position past the last.
    public var endIndex: Int { fields.endIndex }
    /// The field line at a position.
    public subscript(position: Int) -> Field { fields[position] }
}

extension HTTPHeaders: Equatable {
    /// Whether both have the same values, in the same order, for the same names. The order of different names and the case of
    /// names do not matter.
    public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
        guard left.count == right.count else { return false }
        return left.fields.allSatisfy { left.values(for: $0.name) == right.values(for: $0.name) }
    }
}

extension StringProtocol {
    /// Compares as HTTP compares names: ASCII letters without regard to case, everything else byte for byte.
    package func equalsIgnoringCase(_ other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return zip(utf8, other.utf8).allSatisfy { $0 == $1 || ($0.asciiLowercased == $1.asciiLowercased) }
    }
}

extension UInt8 {
    fileprivate var asciiLowercased: UInt8 { self >= 65 && self <= 90 ? self | 32 : self }
}
