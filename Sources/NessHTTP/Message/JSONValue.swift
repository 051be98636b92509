/// Any JSON value (RFC 8259), written as a Swift literal or read from bytes whose shape is not known beforehand.
///
/// ```swift
/// let body: JSONValue = ["name": "Fluffles", "age": 3, "tags": ["a", 1, true, nil]]
/// body["tags"]?[0]?.stringValue   // "a"
/// let bytes = try body.encoded()
/// ```
///
/// JSON has one kind of number, and most readers turn it into a `Double`, which changes every identifier above 2^53. Here a
/// number that is whole and fits 64 bits is kept exactly, in `integer` or, above `Int64.max`, in `unsigned`; any other is a
/// `number`. 64-bit integers are what servers put into identifiers, cost nothing to keep, and print the same on every
/// platform; `Decimal` would be five times as large and is read through `Double` by some of the decoders that Apple ships.
/// A whole number beyond 64 bits becomes the nearest `Double`.
///
/// Numbers compare by value, so `1`, `1.0` and `1e0` are equal, whichever case holds them. An object has no order: it is
/// written in the order of its keys, so that equal values give equal bytes.
///
/// Arrays and objects nest at most 256 deep, and 100 where the value is part of a `Codable` type of one's own: what is deeper is
/// refused with an error when read and when written. Nesting some thousands deep by hand is not refused here, and releasing,
/// comparing or hashing such a value can exhaust its thread's stack.
public enum JSONValue: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A whole number.
    case integer(Int64)
    /// A whole number. Reading uses it only above `Int64.max`.
    case unsigned(UInt64)
    /// A number that is not whole, or too large for the other two. NaN and infinity can't be encoded.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object([String: JSONValue])

    /// Makes a number from an integer of any type, exactly where it fits 64 bits.
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
    /// The value under a key, or nil where this is no object or the key is absent. A key whose value is `null` gives `.null`.
    public subscript(key: String) -> JSONValue? { objectValue?[key] }

    /// The value at an index, or nil where this is no array or the index is outside of it.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// Whether this is `null`.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The boolean, or nil where this is none.
    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The number as an `Int`, or nil where this is no number, not whole, or out of range.
    public var intValue: Int? {
        switch self {
        case .integer(let value): Int(exactly: value)
        case .unsigned(let value): Int(exactly: value)
        case .number(let value): Int(exactly: value)
        default: nil
        }
    }

    /// The number as the nearest `Double`, or nil where this is no number. Whole numbers above 2^53 may lose digits.
    public var doubleValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// The string, or nil where this is none. A number is not turned into one.
    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The elements, or nil where this is no array.
    public var arrayValue: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members, or nil where this is no object.
    public var objectValue: [String: JSONValue]? {
        if case .object(let value) = self { value } else { nil }
    }
}

// MARK: comparing

extension JSONValue: Hashable {
    /// Whether both are the same JSON value; numbers compare by what they stand for.
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

    /// Feeds the value to a hasher; equal numbers feed the same.
    public func hash(into hasher: inout Hasher) {
        switch canonical {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .unsigned(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .string(let value): hasher.combine(value)
        case .array(let value): hasher.combine(value)
        case .object(let value): hasher.combine(value)
        }
    }

    /// The same value in the one case that reading would choose for it.
    private var canonical: JSONValue {
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
    /// Makes an object. Of a key that stands twice the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}
