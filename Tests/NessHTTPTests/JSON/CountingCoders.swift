import NessHTTP
import NessLock

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

    fileprivate struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }
}

/// Decodes a `JSONValue` from another one.
struct CountingDecoder: Decoder, SingleValueDecodingContainer {
    let value: JSONValue
    let counts: CoderCounts
    var depth = 0

    var codingPath: [any CodingKey] { counts.path(depth) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    private func member(_ value: JSONValue) -> CountingDecoder { CountingDecoder(value: value, counts: counts, depth: depth + 1) }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw counts.miss([JSONValue].self) }
        return List(decoder: self, elements: elements.map(member))
    }
    func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw counts.miss([String: JSONValue].self) }
        return KeyedDecodingContainer(Members(decoder: self, members: members.mapValues(member)))
    }

    func decodeNil() -> Bool { if case .null = value { true } else { false } }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let scalar: Any? =
            switch value {
            case .bool(let value) where type == Bool.self: value
            case .integer(let value) where type == Int64.self: value
            case .integer(let value) where type == Double.self: Double(value)
            case .number(let value) where type == Double.self: value
            case .string(let value) where type == String.self: value
            default: nil
            }
        if let scalar = scalar as? Value { return scalar }
        let scalars: [Any.Type] = [Bool.self, Int64.self, UInt64.self, Double.self, String.self]
        if scalars.contains(where: { $0 == type }) { throw counts.miss(type) }
        return try Value(from: self)
    }

    private struct List: UnkeyedDecodingContainer {
        let decoder: CountingDecoder
        let elements: [CountingDecoder]
        var currentIndex = 0
        var codingPath: [any CodingKey] { decoder.codingPath }
        var count: Int? { elements.count }
        var isAtEnd: Bool { currentIndex == elements.count }

        mutating func superDecoder() -> any Decoder {
            defer { currentIndex += 1 }
            return elements[currentIndex]
        }
        mutating func decodeNil() -> Bool { elements[currentIndex].decodeNil() }
        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: superDecoder()) }
        mutating func nestedContainer<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
            try superDecoder().container(keyedBy: type)
        }
        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try superDecoder().unkeyedContainer() }
    }

    private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let decoder: CountingDecoder
        let members: [String: CountingDecoder]
        var codingPath: [any CodingKey] { decoder.codingPath }
        var allKeys: [Key] { members.keys.compactMap(Key.init(stringValue:)) }

        func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }
        func superDecoder(forKey key: Key) throws -> any Decoder {
            guard let member = members[key.stringValue] else { throw decoder.counts.miss(JSONValue.self) }
            return member
        }
        func superDecoder() throws -> any Decoder { decoder }
        func decodeNil(forKey key: Key) throws -> Bool { members[key.stringValue]?.decodeNil() ?? true }
        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try Value(from: superDecoder(forKey: key)) }
        func nestedContainer<Other>(keyedBy type: Other.Type, forKey key: Key) throws -> KeyedDecodingContainer<Other> {
            try superDecoder(forKey: key).container(keyedBy: type)
        }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try superDecoder(forKey: key).unkeyedContainer()
        }
    }
}

/// Encodes values into nothing.
struct CountingEncoder: Encoder, SingleValueEncodingContainer, UnkeyedEncodingContainer {
    let counts: CoderCounts
    var depth = 0
    var count: Int { 0 }

    var codingPath: [any CodingKey] { counts.path(depth) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    private var member: CountingEncoder { CountingEncoder(counts: counts, depth: depth + 1) }

    func superEncoder() -> any Encoder { member }
    func singleValueContainer() -> any SingleValueEncodingContainer { self }
    func unkeyedContainer() -> any UnkeyedEncodingContainer { member }
    func container<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> { KeyedEncodingContainer(Members(encoder: member)) }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { member }
    func nestedContainer<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> { container(keyedBy: type) }
    func encodeNil() {}
    func encode<Value: Encodable>(_ value: Value) throws {
        if !(value is Bool || value is Int64 || value is UInt64 || value is Double || value is String) { try value.encode(to: self) }
    }

    private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let encoder: CountingEncoder
        var codingPath: [any CodingKey] { encoder.codingPath }

        func encodeNil(forKey key: Key) {}
        func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try encoder.encode(value) }
        func superEncoder() -> any Encoder { encoder }
        func superEncoder(forKey key: Key) -> any Encoder { encoder }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder.unkeyedContainer() }
        func nestedContainer<Other>(keyedBy type: Other.Type, forKey key: Key) -> KeyedEncodingContainer<Other> {
            encoder.container(keyedBy: type)
        }
    }
}
