import NessHTTP
import NessLock
import TestSupport

/// Counts what takes a coder time in proportion to the depth of a value.
final class CoderCounts: Sendable {
    private let counts = Lock((misses: 0, paths: 0))

    /// The number of times that a kind was tried without success.
    var misses: Int { counts.withLock { $0.misses } }
    /// The number of times that a path was read.
    var paths: Int { counts.withLock { $0.paths } }

    fileprivate func path(_ depth: Int) -> [any CodingKey] {
        counts.withLock { $0.paths += 1 }
        return Array(repeating: Key(stringValue: "a"), count: depth)
    }

    fileprivate func miss(_ type: Any.Type) -> DecodingError {
        counts.withLock { $0.misses += 1 }
        return .typeMismatch(type, DecodingError.Context(codingPath: [], debugDescription: "another kind"))
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }
}

/// Decodes a `JSONValue` from another one. It knows what `JSONValue` asks a decoder for, and nothing else.
struct CountingDecoder: Decoder, SingleValueDecodingContainer {
    let value: JSONValue
    let counts: CoderCounts
    var depth = 0

    var codingPath: [any CodingKey] { counts.path(depth) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    fileprivate func decode(member: JSONValue) throws -> JSONValue {
        try JSONValue(from: CountingDecoder(value: member, counts: counts, depth: depth + 1))
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw counts.miss([JSONValue].self) }
        return List(decoder: self, elements: elements)
    }
    func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw counts.miss(type) }

    func decodeNil() -> Bool { if case .null = value { true } else { false } }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let decoded: Any? =
            switch value {
            case .bool(let value) where type == Bool.self: value
            case .integer(let value) where type == Int64.self: value
            case .integer(let value) where type == Double.self: Double(value)
            case .number(let value) where type == Double.self: value
            case .string(let value) where type == String.self: value
            case .object(let members) where type == [String: JSONValue].self: try members.mapValues(decode(member:))
            default: nil
            }
        guard let decoded = decoded as? Value else { throw counts.miss(type) }
        return decoded
    }

    private struct List: UnkeyedDecodingContainer {
        let decoder: CountingDecoder
        let elements: [JSONValue]
        var currentIndex = 0
        var codingPath: [any CodingKey] { decoder.codingPath }
        var count: Int? { elements.count }
        var isAtEnd: Bool { currentIndex == elements.count }

        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            defer { currentIndex += 1 }
            guard let element = try decoder.decode(member: elements[currentIndex]) as? Value else { throw decoder.counts.miss(type) }
            return element
        }
        mutating func decodeNil() -> Bool { false }
        mutating func superDecoder() -> any Decoder { decoder }
        mutating func nestedContainer<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw decoder.counts.miss(type) }
        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw decoder.counts.miss([JSONValue].self) }
    }
}

/// Encodes a `JSONValue` into nothing. It knows what `JSONValue` asks an encoder for, and nothing else.
struct CountingEncoder: Encoder, SingleValueEncodingContainer {
    let counts: CoderCounts
    var depth = 0

    var codingPath: [any CodingKey] { counts.path(depth) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
    func unkeyedContainer() -> any UnkeyedEncodingContainer { preconditionFailure("not asked for") }
    func container<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> { preconditionFailure("not asked for") }
    func encodeNil() {}
    func encode<Value: Encodable>(_ value: Value) throws {
        if let value = value as? JSONValue { return try value.encode(to: self) }
        let members = value as? [JSONValue] ?? (value as? [String: JSONValue]).map { Array($0.values) } ?? []
        for member in members { try member.encode(to: CountingEncoder(counts: counts, depth: depth + 1)) }
    }
}
