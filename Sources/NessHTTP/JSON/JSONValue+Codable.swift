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
    /// `JSONDecoder().decode(JSONValue.self, from: data)` for bytes from a server: a decoder does not report the kind of a value, so the
    /// kinds are tried in turn.
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
        let reading = Reading(decoder: decoder, container: try decoder.singleValueContainer())
        let kinds = JSONKinds.current, place = kinds?.next()
        if reading.container.decodeNil() {
            self = .null
            return
        }
        let guess = place?.guess
        for step in (guess == nil ? 0 : -1)..<JSONKinds.Kind.allCases.count {
            guard let kind = JSONKinds.Kind(rawValue: step) ?? guess else { continue }
            let value: JSONValue? =
                switch kind {
                case .array: try reading.array(place)
                case .object: try reading.object(place, isGuess: step < 0)
                default: reading.scalar(kind, isGuess: step < 0)
                }
            guard let value else { continue }
            if let place { kinds?.set(kind, at: place) }
            self = value
            return
        }
        throw DecodingError.dataCorruptedError(in: reading.container, debugDescription: Self.unreadable)
    }

    /// Decodes a whole number again as an integer, which keeps all its digits.
    static func exactly(_ number: Double, in container: any SingleValueDecodingContainer) -> JSONValue {
        guard number >= -0x1p63, number <= 0x1p64, number == number.rounded(.towardZero) else { return .number(number) }
        if let exact = try? container.decode(Int64.self) { return .integer(exact) }
        return (try? container.decode(UInt64.self)).map { JSONValue($0) } ?? .number(number)
    }

    static let unreadable = "Neither a JSON array nor an object, nor a number that a Double can hold."
}

/// A decoder's value, whose kind is being determined.
private struct Reading {
    let decoder: any Decoder
    let container: any SingleValueDecodingContainer

    // Each value has two frames on the stack, which must fit 100 times. So no closure lies between them, and scalars are read elsewhere.

    /// Reads a scalar of a kind. `nil` if the value is of another kind, or if the kind is only a guess, and a decoder of another format may
    /// read the value as a kind that would be tried earlier.
    @inline(never)
    func scalar(_ kind: JSONKinds.Kind, isGuess: Bool) -> JSONValue? {
        switch kind {
        case .bool: return (try? container.decode(Bool.self)).map(JSONValue.bool)
        case .number:
            guard let number = try? container.decode(Double.self), !isGuess || (number != 0 && number != 1) else { return nil }
            return JSONValue.exactly(number, in: container)
        default:
            guard let text = try? container.decode(String.self), !isGuess || Self.isOnlyText(text) else { return nil }
            return .string(text)
        }
    }

    /// Reads an array. `nil` if the value is not an array.
    func array(_ place: JSONKinds.Place?) throws -> JSONValue? {
        guard let kinds = JSONKinds.current else { return try outermost { try array(place) } }
        guard var list = try? decoder.unkeyedContainer() else { return nil }
        try checkDepth(place, kinds)
        kinds.enter(.array)
        defer { kinds.leave() }
        var elements: [JSONValue] = []
        while !list.isAtEnd { elements.append(try list.decode(JSONValue.self)) }
        return .array(elements)
    }

    /// Reads an object. `nil` if the value is not an object.
    func object(_ place: JSONKinds.Place?, isGuess: Bool) throws -> JSONValue? {
        guard let kinds = JSONKinds.current else { return try outermost { try object(place, isGuess: isGuess) } }
        // The value may be a scalar, which does not nest too deep.
        if isGuess, let place, place.depth >= JSONValue.maximumCodableDepth { return nil }
        try checkDepth(place, kinds)
        let count = kinds.visitCount
        kinds.enter(.object)
        defer { kinds.leave() }
        do {
            // Not a keyed container, to which the decoder would apply its strategy for keys.
            return .object(try container.decode([String: JSONValue].self))
        } catch DecodingError.typeMismatch where kinds.visitCount == count {
            return nil
        }
    }

    private func outermost(_ read: () throws -> JSONValue?) throws -> JSONValue? {
        try JSONKinds.$current.withValue(JSONKinds(base: decoder.codingPath.count), operation: read)
    }

    private func checkDepth(_ place: JSONKinds.Place?, _ kinds: JSONKinds) throws {
        guard (place?.depth ?? kinds.base) >= JSONValue.maximumCodableDepth else { return }
        throw DecodingError.dataCorruptedError(in: container, debugDescription: JSONValue.tooDeep(JSONValue.maximumCodableDepth))
    }

    /// Returns false for a string that a decoder of another format may read as a truth value or a number.
    private static func isOnlyText(_ text: String) -> Bool {
        guard let first = text.utf8.first, first >= 0x80 || (0x61...0x7A).contains(first.asciiLowercased) else { return false }
        return !(text.utf8.count <= 5 && words.contains(where: text.equalsIgnoringCase)) && Double(text) == nil
    }

    private static let words = ["true", "false", "yes", "no", "on", "off", "t", "f", "y", "n"]
}

extension JSONValue: Encodable {
    /// Writes the value as part of another `Codable` type. For the value alone, use `encoded()`.
    /// - Parameter encoder: The encoder, not necessarily one for JSON.
    /// - Throws: `EncodingError` if the value nests deeper than 100, or the encoder's error, for example for NaN. The former contains no
    ///   part of the value, which may be secret and is too deep to print.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        // A whole number is written with all its digits. The shortest text for the `Double` 2^60 is the text of another integer.
        switch canonical {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        // Nothing lies between the frames of the values, which must fit the stack.
        case .array(let value) where Self.isDepthChecked: try container.encode(value)
        case .object(let value) where Self.isDepthChecked: try container.encode(value)
        case .array, .object:
            guard !isDeeper(than: Self.maximumCodableDepth - encoder.codingPath.count) else {
                throw JSONWriter.failure(Self.tooDeep(Self.maximumCodableDepth))
            }
            try Self.$isDepthChecked.withValue(true) { try container.encode(self) }
        }
    }

    /// True within a value whose depth was checked. The path of an encoder takes time in proportion to the depth.
    @TaskLocal private static var isDepthChecked = false

    private func isDeeper(than limit: Int) -> Bool {
        switch self {
        case .array(let elements): limit <= 0 || elements.contains { $0.isDeeper(than: limit - 1) }
        case .object(let members): limit <= 0 || members.values.contains { $0.isDeeper(than: limit - 1) }
        default: false
        }
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
