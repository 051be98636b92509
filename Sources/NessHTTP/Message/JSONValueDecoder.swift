import Foundation

/// Reads a `JSONValue` from the decoder that a `JSONDecoder` hands out.
///
/// A decoder does not tell what kind of value it holds; it can only be asked for one kind after the other. Each wrong guess costs an error with
/// the whole coding path in it: 10 µs at 97 levels, where a right one takes 0.07 µs. So the reader learns to guess: rows look like the rows
/// before them, and members of one name hold values of one kind. It counts the depth itself, because `codingPath` costs as much as a wrong
/// guess.
struct JSONValueDecoder {
    private enum Kind: CaseIterable { case string, number, bool, array, object }

    /// The place of a value, by which the reader guesses its kind.
    private enum Place: Hashable {
        case root
        case element(depth: Int, after: Kind?)
        case member(named: String)
    }

    private let decoder: any Decoder
    /// The number of levels that surround the value in the caller's own types.
    private let outerDepth: Int
    /// The number of guesses that were wrong: what deep nesting makes dear.
    private(set) var wrongGuesses = 0
    /// The kind that came last at each place.
    private var kinds: [Place: Kind] = [:]
    /// The kind of the value that was read last.
    private var last: Kind?

    /// Makes a reader.
    /// - Parameter decoder: The decoder that holds the value.
    /// - Returns: `nil` for another decoder than that of a `JSONDecoder`. Others may take one kind for another, a number for a string say, so
    ///   that the order of the guesses matters there.
    init?(_ decoder: any Decoder) {
        guard ObjectIdentifier(type(of: decoder)) == Self.jsonDecoderType else { return nil }
        self.decoder = decoder
        outerDepth = decoder.codingPath.count
    }

    /// Reads the value.
    /// - Throws: `DecodingError` where the value nests too deep or holds a number that no `Double` can.
    mutating func read() throws -> JSONValue { try value(decoder, at: .root, depth: 0, likely: .string) }

    /// - Parameter likely: The first guess at a place that the reader has not seen.
    private mutating func value(_ decoder: any Decoder, at place: Place, depth: Int, likely: Kind) throws -> JSONValue {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() { return .null }
        let known = kinds[place]
        let first = known ?? likely
        var kind = first, others = Kind.allCases.makeIterator()
        while true {
            if let value = try value(kind, decoder, container, depth) {
                if kind != known { kinds[place] = kind }
                last = kind
                return value
            }
            wrongGuesses += 1
            repeat {
                guard let other = others.next() else {
                    throw DecodingError.dataCorruptedError(in: container, debugDescription: JSONValue.unreadable)
                }
                kind = other
            } while kind == first
        }
    }

    /// Reads a value of one kind.
    /// - Returns: The value; `nil` if it is of another kind.
    private mutating func value(
        _ kind: Kind, _ decoder: any Decoder, _ container: any SingleValueDecodingContainer, _ depth: Int
    ) throws -> JSONValue? {
        switch kind {
        case .string: (try? container.decode(String.self)).map(JSONValue.string)
        case .number: (try? container.decode(Double.self)).map { JSONValue.exactly($0, in: container) }
        case .bool: (try? container.decode(Bool.self)).map(JSONValue.bool)
        case .array: try (try? decoder.unkeyedContainer()).map { .array(try elements($0, container, depth + 1)) }
        case .object: try (try? decoder.container(keyedBy: Key.self)).map { .object(try members($0, container, depth + 1)) }
        }
    }

    private mutating func elements(
        _ elements: any UnkeyedDecodingContainer, _ container: any SingleValueDecodingContainer, _ depth: Int
    ) throws -> [JSONValue] {
        try checkDepth(depth, container)
        var elements = elements
        var values: [JSONValue] = []
        last = nil
        while !elements.isAtEnd {
            values.append(try value(elements.superDecoder(), at: .element(depth: depth, after: last), depth: depth, likely: last ?? .array))
        }
        return values
    }

    private mutating func members(
        _ members: KeyedDecodingContainer<Key>, _ container: any SingleValueDecodingContainer, _ depth: Int
    ) throws -> [String: JSONValue] {
        try checkDepth(depth, container)
        let keys = members.allKeys
        if keys.isEmpty { return [:] }
        // A strategy for keys changes the names here, which are data. Only a dictionary gets them as they are, and each of its values is read by
        // a reader of its own.
        let names = try container.decode([String: Skipped].self)
        guard keys.count == names.count, keys.allSatisfy({ names[$0.stringValue] != nil }) else {
            return try container.decode([String: JSONValue].self)
        }
        var values: [String: JSONValue] = [:]
        values.reserveCapacity(names.count)
        for key in keys {
            let name = key.stringValue
            values[name] = try value(members.superDecoder(forKey: key), at: .member(named: name), depth: depth, likely: .string)
        }
        return values
    }

    private func checkDepth(_ depth: Int, _ container: any SingleValueDecodingContainer) throws {
        guard outerDepth + depth > JSONValue.maximumCodableDepth else { return }
        throw DecodingError.dataCorruptedError(
            in: container, debugDescription: JSONValue.tooDeep(JSONValue.maximumCodableDepth))
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// A value that is not looked at.
    private struct Skipped: Decodable {
        init(from decoder: any Decoder) {}
    }

    /// The type of the decoder that a `JSONDecoder` hands out, which has no public name.
    private static let jsonDecoderType: ObjectIdentifier? = {
        struct Probe: Decodable {
            let type: ObjectIdentifier
            init(from decoder: any Decoder) { type = ObjectIdentifier(Swift.type(of: decoder)) }
        }
        return try? JSONDecoder().decode(Probe.self, from: Data("0".utf8)).type
    }()
}
