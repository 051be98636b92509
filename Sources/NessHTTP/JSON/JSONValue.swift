/// Any JSON value (RFC 8259). Write it as a Swift literal, or read it from bytes whose structure is not known in advance.
///
/// ```swift
/// let body: JSONValue = [
///     "name": "Fluffles", "age": 3, "tags": ["a", 1, true, nil],
/// ]
/// let tag = body["tags"]?[0]?.stringValue   // "a"
/// let bytes = try body.encoded()
/// ```
///
/// **Numbers.** JSON has one kind of number. Most readers turn it into a `Double`, which changes identifiers above 2^53. `JSONValue` keeps
/// a whole number that fits 64 bits exactly: in `integer`, or above `Int64.max` in `unsigned`. Any other number is a `number`. A whole
/// number beyond 64 bits becomes the nearest `Double`. `Decimal` is not used, because it would be five times as large, and because some of
/// Apple's decoders read it through `Double`.
///
/// **Comparison.** Numbers compare by value: `1`, `1.0` and `1e0` are equal, even if they are different cases of this enum. An object has
/// no order. It is written in the order of its keys, so equal values give equal bytes.
///
/// **Depth.** Arrays and objects may nest 256 deep, or 100 deep if the value is part of another `Codable` type. Reading and writing fail
/// with an error above these limits. A value that code nests some thousands deep is not rejected, and releasing, comparing or hashing it
/// can overflow the stack of its thread.
public enum JSONValue: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A whole number.
    case integer(Int64)
    /// A whole number. Reading uses it only above `Int64.max`.
    case unsigned(UInt64)
    /// A number that is not whole, or too large for 64 bits. NaN and infinity cannot be encoded. A whole number that was read is never of
    /// this case: `doubleValue` and `intValue` give a number of any case.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object([String: JSONValue])

    /// Makes a number from an integer of any type. It is exact if it fits 64 bits.
    ///
    /// ```swift
    /// let info: JSONValue = [
    ///     "size": JSONValue(response.body.count), "ratio": .number(0.5),
    /// ]
    /// ```
    /// - Parameter value: The integer.
    public init(_ value: some BinaryInteger) {
        if let exact = Int64(exactly: value) {
            self = .integer(exact)
        } else if let exact = UInt64(exactly: value) {
            self = .unsigned(exact)
        } else {
            self = .number(Double(value))
        }
    }
}

// MARK: reading

extension JSONValue {
    /// The value of a key; `nil` if this is not an object or the key is absent. A key with the value `null` gives `.null`.
    public subscript(key: String) -> JSONValue? { objectValue?[key] }

    /// The element at an index; `nil` if this is not an array or the index is out of bounds.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// The Boolean value; `nil` if this is not one.
    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The number as an `Int`; `nil` if this is not a number, not whole, or out of range.
    public var intValue: Int? {
        switch self {
        case .integer(let value): Int(exactly: value)
        case .unsigned(let value): Int(exactly: value)
        case .number(let value): Int(exactly: value)
        default: nil
        }
    }

    /// The number as the nearest `Double`; `nil` if this is not a number. Whole numbers above 2^53 may lose digits.
    public var doubleValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// The string; `nil` if this is not a string. A number is not converted.
    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The elements; `nil` if this is not an array.
    public var arrayValue: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members; `nil` if this is not an object.
    public var objectValue: [String: JSONValue]? {
        if case .object(let value) = self { value } else { nil }
    }
}

// MARK: comparing

extension JSONValue: Hashable {
    /// Returns `true` if both are the same JSON value. Numbers compare by value.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left.canonical, right.canonical) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.unsigned(let left), .unsigned(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left == right
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    /// Adds the value to a hasher. Equal numbers add the same.
    public func hash(into hasher: inout Hasher) {
        // Each is `nil` for the other kinds. Numbers that are equal have the same `Double`.
        hasher.combine(boolValue)
        hasher.combine(doubleValue)
        hasher.combine(stringValue)
        hasher.combine(arrayValue)
        hasher.combine(objectValue)
    }

    /// The same value in the case that `init(parsing:)` would choose.
    var canonical: JSONValue {
        switch self {
        case .unsigned(let value): JSONValue(value)
        case .number(let value): Int64(exactly: value).map(JSONValue.integer) ?? UInt64(exactly: value).map(JSONValue.unsigned) ?? self
        default: self
        }
    }
}

// MARK: literals

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Makes `null`.
    public init(nilLiteral: ()) { self = .null }
    /// Makes a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Makes a whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Makes a number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// Makes a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Makes an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Makes an object. If a key occurs twice, the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}
