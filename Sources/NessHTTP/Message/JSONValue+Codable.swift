import Foundation

extension JSONValue {
    /// The deepest nesting that is read and written: what fits, with room to spare, the 512 kB stack that Apple gives to
    /// secondary threads. A text from elsewhere must not be able to overflow it.
    package static let maximumDepth = 256

    /// The most values that are read from one text. Two bytes of text become some hundred of memory.
    package static let maximumCount = 10_000_000

    /// The same by way of `Codable`, whose stack frames are three times as large: Foundation's own overflow it at some 180.
    package static let maximumCodableDepth = 100

    static func tooDeep(_ limit: Int) -> String { "Arrays and objects nest deeper than \(limit)" }

    /// Reads JSON text. Of a key that stands twice in an object the last value counts.
    ///
    /// This is linear in the length of the text, however it is nested. Prefer it to `JSONDecoder().decode(JSONValue.self, from: data)` for bytes
    /// from elsewhere: a decoder does not tell of what kind a value is, and each wrong guess takes time in proportion to the depth.
    /// - Parameter data: The text, in UTF-8. Any value may stand at the top, not only an array or an object.
    /// - Throws: `DecodingError` where the bytes are not JSON, nest deeper than 256, or hold a number that no `Double` can.
    public init(parsing data: Data) throws {
        self = try JSONReader.read(data)
    }

    /// Writes the value as JSON text in UTF-8: without white space, keys sorted, slashes as they are.
    /// - Returns: The text.
    /// - Throws: `EncodingError` where the value holds NaN or an infinity, or nests deeper than 256.
    public func encoded() throws -> Data {
        Data(try JSONWriter.write(self))
    }
}

extension JSONValue: Decodable {
    /// Reads a value of any shape, for a type of one's own that holds it; `init(parsing:)` is for the value alone.
    /// - Parameter decoder: The decoder, not necessarily one for JSON.
    /// - Throws: `DecodingError` where the decoder holds what is no JSON value, or what nests deeper than 100.
    public init(from decoder: any Decoder) throws {
        if var reader = JSONValueDecoder(decoder) {
            self = try reader.read()
            return
        }
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

    /// Reads a whole number again as an integer, which keeps all its digits.
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
    /// Writes the value, for a type of one's own that holds it; `encoded()` is for the value alone.
    /// - Parameter encoder: The encoder, not necessarily one for JSON.
    /// - Throws: `EncodingError` where the value nests deeper than 100, and what the encoder throws, for NaN say.
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

    /// Writes a whole number with all its digits: the shortest text for a `Double` of 2^60 stands for a different integer.
    private static func encode(_ number: Double, into container: inout any SingleValueEncodingContainer) throws {
        if let exact = Int64(exactly: number) {
            try container.encode(exact)
        } else if let exact = UInt64(exactly: number) {
            try container.encode(exact)
        } else {
            try container.encode(number)
        }
    }

    /// The error holds no part of the value: it could be a secret, and is too deep to be printed.
    private static func checkDepth(_ encoder: any Encoder) throws {
        if encoder.codingPath.count >= maximumCodableDepth { throw JSONWriter.failure(tooDeep(maximumCodableDepth)) }
    }
}

/// A type that is made of a whole JSON text, and needs no decoder to read it.
protocol JSONValueReadable {
    init(_ value: JSONValue) throws
}

extension JSONValue: JSONValueReadable {
    init(_ value: JSONValue) { self = value }

    /// Reads a text as a type that needs no decoder for it, in time linear in the length of the text.
    /// - Returns: The value; `nil` for a type that needs a decoder.
    static func read<Value>(_ type: Value.Type, from data: Data) throws -> Value? {
        guard let readable = Value.self as? any JSONValueReadable.Type else { return nil }
        return try readable.init(JSONValue(parsing: data)) as? Value
    }
}
