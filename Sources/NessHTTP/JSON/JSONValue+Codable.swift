import Foundation

extension JSONValue {
    /// The deepest nesting that is read and written. It fits the 512 kB stack of Apple's secondary threads with room to spare, so JSON
    /// from a server cannot overflow the stack.
    package static let maximumDepth = 256

    /// The largest number of values that are read from one JSON document. Two bytes of it become about a hundred bytes of memory.
    package static let maximumCount = 10_000_000

    /// The deepest nesting through `Codable`, whose stack frames are three times as large. Foundation's own coders overflow the stack at
    /// about 180.
    package static let maximumCodableDepth = 100

    static func tooDeep(_ limit: Int) -> String { "Arrays and objects nest deeper than \(limit)" }

    /// Reads JSON text. If a key occurs twice in an object, the last value counts.
    ///
    /// The time is linear in the length of the text, however deep it nests. Prefer this to
    /// `JSONDecoder().decode(JSONValue.self, from: data)` for bytes from a server: a decoder does not report the kind of a value, and each
    /// kind that is tried without success takes time in proportion to the depth.
    /// - Parameter data: The text, in UTF-8. The top level may be any value, not only an array or an object.
    /// - Throws: `DecodingError` if the bytes are not JSON, nest deeper than 256, or contain a number beyond the range of `Double`.
    public init(parsing data: Data) throws {
        self = try JSONReader.read(data)
    }

    /// Writes the value as JSON text in UTF-8: without white space, with sorted keys, with unescaped slashes.
    /// - Returns: The text.
    /// - Throws: `EncodingError` if the value contains NaN or an infinity, or nests deeper than 256.
    public func encoded() throws -> Data {
        Data(try JSONWriter.write(self))
    }
}

extension JSONValue: Decodable {
    /// Reads a value as part of another `Codable` type. For the value alone, use `init(parsing:)`.
    /// - Parameter decoder: The decoder, not necessarily one for JSON.
    /// - Throws: `DecodingError` if the decoder's value is not a JSON value, or nests deeper than 100.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = Self.exactly(value, in: container)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else {
            self = try Self.nested(in: container, of: decoder)
        }
    }

    /// Decodes a whole number again as an integer, which keeps all its digits.
    static func exactly(_ number: Double, in container: any SingleValueDecodingContainer) -> JSONValue {
        guard number >= -0x1p63, number <= 0x1p64, number == number.rounded(.towardZero) else { return .number(number) }
        if let exact = try? container.decode(Int64.self) { return .integer(exact) }
        return (try? container.decode(UInt64.self)).map { JSONValue($0) } ?? .number(number)
    }

    static let unreadable = "Neither a JSON array nor an object, nor a number that a Double can hold."

    private static func nested(in container: any SingleValueDecodingContainer, of decoder: any Decoder) throws -> JSONValue {
        let path = decoder.codingPath
        guard path.count < maximumCodableDepth else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: tooDeep(maximumCodableDepth))
        }
        if (try? decoder.unkeyedContainer()) != nil { return .array(try container.decode([JSONValue].self)) }
        do {
            return .object(try container.decode([String: JSONValue].self))
        } catch DecodingError.typeMismatch(_, let context) where context.codingPath.count == path.count {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: unreadable)
        }
    }
}

extension JSONValue: Encodable {
    /// Writes the value as part of another `Codable` type. For the value alone, use `encoded()`.
    /// - Parameter encoder: The encoder, not necessarily one for JSON.
    /// - Throws: `EncodingError` if the value nests deeper than 100, or the encoder's error, for example for NaN.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .number(let value): try Self.encode(value, into: &container)
        case .string(let value): try container.encode(value)
        case .array(let value):
            try Self.checkDepth(encoder)
            try container.encode(value)
        case .object(let value):
            try Self.checkDepth(encoder)
            try container.encode(value)
        }
    }

    /// Writes a whole number with all its digits. The shortest text for the `Double` 2^60 is the text of another integer.
    private static func encode(_ number: Double, into container: inout any SingleValueEncodingContainer) throws {
        if let exact = Int64(exactly: number) {
            try container.encode(exact)
        } else if let exact = UInt64(exactly: number) {
            try container.encode(exact)
        } else {
            try container.encode(number)
        }
    }

    /// Throws if the value nests too deep. The error contains no part of the value, which may be secret and is too deep to print.
    private static func checkDepth(_ encoder: any Encoder) throws {
        if encoder.codingPath.count >= maximumCodableDepth { throw JSONWriter.failure(tooDeep(maximumCodableDepth)) }
    }
}

/// A type that is made from a whole JSON text without a decoder.
protocol JSONValueReadable {
    init(_ value: JSONValue) throws
}

extension JSONValue: JSONValueReadable {
    init(_ value: JSONValue) { self = value }

    /// Reads JSON as a type that needs no decoder. The time is linear in the length of the JSON.
    /// - Returns: The value; `nil` for a type that needs a decoder.
    static func read<Value>(_ type: Value.Type, from data: Data) throws -> Value? {
        guard let readable = Value.self as? any JSONValueReadable.Type else { return nil }
        return try readable.init(JSONValue(parsing: data)) as? Value
    }
}
