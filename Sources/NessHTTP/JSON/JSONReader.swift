import Foundation

/// Reads JSON text (RFC 8259) into a `JSONValue`, in one pass over its bytes.
///
/// Neither of Foundation's readers fits. With them, users would lose (on Linux, Swift 6.3):
///
/// | | this reader | Foundation's | test |
/// |---|---|---|---|
/// | `[1,]` and `{"a":1,}` | rejected | accepted by both | `JSONValueTests.foundationReads` |
/// | the bytes `5B 00 5D 00` | rejected | UTF-16 for both | `JSONValueTests.foundationReads` |
/// | the last of two equal keys, as documented | taken | `JSONDecoder` takes the first | `JSONValueTests.foundationReads` |
/// | the kind of a value | known | `JSONSerialization` casts 1 to `true`, `JSONDecoder` tries each kind | `JSONValueTests.foundationReads` |
/// | 256 levels on a secondary thread's stack | read | `JSONDecoder` overflows the stack at about 180 | `JSONValueTests.smallStack` |
/// | the time for deep text | linear | a kind that is tried costs `JSONDecoder` the square of the depth | `JSONValueTests.hostile` |
/// | the position of each value, which the redactor needs | known | not reported | `RedactorTests` |
/// | the digits of a number, which a query needs | kept | lost by `JSONDecoder` | `QueryEncodingTests.exact` |
/// | the largest number of values | limited, for the memory's sake | no limit | `JSONValueTests.tooMany` |
/// | 1 MB of objects | 20 ms | 120 ms with `JSONSerialization`, before a conversion; 180 ms with `JSONDecoder` | measured |
///
/// They lose nothing else: all three keep whole numbers of 64 bits, and reject half a surrogate pair, NaN and a number beyond `Double`.
package struct JSONReader {
    private let bytes: [UInt8]
    private var index = 0
    private var depth = 0
    private let maximumCount: Int
    private let keepsDigits: Bool
    private var count = 0
    /// The strings, numbers and objects read so far. `nil` if they are not listed.
    private var scalars: JSONScalars?
    /// The position of the string, the number or the word that the reader started last.
    private var lastStart = 0

    /// Lists the strings, numbers and objects of JSON, or of the start of JSON.
    /// - Parameter bytes: The JSON, in UTF-8.
    /// - Returns: The list. `nil` if the text is not JSON.
    static func scalars(of bytes: [UInt8]) -> JSONScalars? {
        var reader = JSONReader(bytes: bytes, maximumCount: JSONValue.maximumCount, keepsDigits: true)
        reader.scalars = JSONScalars()
        let isComplete = (try? reader.whole()) != nil
        guard isComplete || reader.index == bytes.count, var scalars = reader.scalars else { return nil }
        if !isComplete {
            scalars.list.removeAll { $0.range.lowerBound >= reader.lastStart }
            scalars.end = reader.lastStart
        }
        return scalars
    }

    /// Reads JSON that consists of exactly one value.
    /// - Parameters:
    ///   - data: The text, in UTF-8, with or without a byte order mark.
    ///   - maximumCount: The largest number of values in the text.
    ///   - keepsDigits: True to read numbers as strings, with all their digits.
    /// - Returns: The value.
    /// - Throws: `DecodingError`, which names the position where the text ceases to be JSON or exceeds the limit. It contains no part of
    ///   the text.
    package static func read(
        _ data: Data, maximumCount: Int = JSONValue.maximumCount, keepsDigits: Bool = false
    ) throws -> JSONValue {
        guard String(data: data, encoding: .utf8) != nil else { throw failure("The text is not UTF-8.") }
        var reader = JSONReader(bytes: Array(data), maximumCount: maximumCount, keepsDigits: keepsDigits)
        return try reader.whole()
    }

    private mutating func whole() throws -> JSONValue {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
        let value = try value()
        guard next() == nil else { throw failure("Unexpected data after the value") }
        return value
    }

    private init(bytes: [UInt8], maximumCount: Int, keepsDigits: Bool) {
        self.bytes = bytes
        self.maximumCount = maximumCount
        self.keepsDigits = keepsDigits
    }

    // MARK: values

    // The frames of `value()`, `nested`, `members()` and `elements()` must fit the stack 256 times. They leave the rest to other functions.

    private mutating func value() throws -> JSONValue {
        switch try start() {
        case UInt8(ascii: "{"): return .object(try nested { try $0.members() })
        case UInt8(ascii: "["): return .array(try nested { try $0.elements() })
        case let first: return try scalar(first)
        }
    }

    /// Counts a value, and finds its start.
    private mutating func start() throws -> UInt8? {
        guard count < maximumCount else { throw failure("The JSON has more than \(maximumCount) values") }
        count += 1
        let first = next()
        lastStart = index
        return first
    }

    private mutating func scalar(_ first: UInt8?) throws -> JSONValue {
        switch first {
        case UInt8(ascii: "\""): .string(try string())
        case UInt8(ascii: "-")?, (UInt8(ascii: "0")...UInt8(ascii: "9"))?: try number()
        case UInt8(ascii: "t"): try word("true", .bool(true))
        case UInt8(ascii: "f"): try word("false", .bool(false))
        case UInt8(ascii: "n"): try word("null", .null)
        default: throw failure("A value is missing")
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws -> JSONValue {
        let end = index + word.utf8CodeUnitCount
        let read = bytes[index..<min(end, bytes.count)]
        guard read.elementsEqual(word.description.utf8.prefix(read.count)) else { throw failure("A value is missing") }
        index = read.endIndex
        guard index == end else { throw failure("A literal is cut off") }
        return value
    }

    private mutating func nested<Content>(_ read: (inout JSONReader) throws -> Content) throws -> Content {
        guard depth < JSONValue.maximumDepth else { throw failure(JSONValue.tooDeep(JSONValue.maximumDepth)) }
        depth += 1
        defer { depth -= 1 }
        index += 1
        return try read(&self)
    }

    private mutating func elements() throws -> [JSONValue] {
        var elements: [JSONValue] = []
        if take("]") { return elements }
        repeat { elements.append(try value()) } while take(",")
        guard take("]") else { throw failure("An array has no comma or closing bracket") }
        return elements
    }

    private mutating func members() throws -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        scalars?.startObject(at: index)
        if !take("}") {
            repeat {
                let key = try key(), number = scalars?.list.count ?? 0
                members[key] = try value()
                scalars?.endMember(number - 1, at: index)
            } while take(",")
            guard take("}") else { throw failure("An object has no comma or closing brace") }
        }
        scalars?.endObject(at: index)
        return members
    }

    /// Reads a key with its colon.
    private mutating func key() throws -> String {
        guard next() == UInt8(ascii: "\"") else { throw failure("A key is missing") }
        lastStart = index
        let key = try string()
        guard take(":") else { throw failure("A key has no colon") }
        // The member's place starts at its value, not at the white space before it.
        _ = next()
        scalars?.startMember(index..<bytes.count)
        return key
    }

    // MARK: numbers

    private mutating func number() throws -> JSONValue {
        let start = index
        if byte == UInt8(ascii: "-") { index += 1 }
        let leadsWithZero = byte == UInt8(ascii: "0")
        let count = try digits()
        if leadsWithZero, count > 1 { throw failure("A number has a leading zero") }
        if byte == UInt8(ascii: ".") {
            index += 1
            try digits()
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            index += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { index += 1 }
            try digits()
        }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        scalars?.list.append(JSONScalars.Item(text: text, range: start..<index))
        if keepsDigits { return .string(text) }
        if let exact = Int64(text) { return .integer(exact) }
        if let exact = UInt64(text) { return .unsigned(exact) }
        guard let number = Double(text), number.isFinite else { throw failure("A number is larger than a Double can be") }
        return .number(number)
    }

    @discardableResult private mutating func digits() throws -> Int {
        let start = index
        while let byte, byte.isDigit { index += 1 }
        guard index > start else { throw failure("A number has no digit") }
        return index - start
    }

    // MARK: strings

    private mutating func string() throws -> String {
        let start = index
        let string = try content()
        scalars?.list.append(JSONScalars.Item(text: string, range: start..<index))
        return string
    }

    private mutating func content() throws -> String {
        index += 1
        var start = index
        var unescaped: [UInt8] = []
        while let byte {
            switch byte {
            case UInt8(ascii: "\""):
                defer { index += 1 }
                if unescaped.isEmpty { return String(decoding: bytes[start..<index], as: UTF8.self) }
                unescaped += bytes[start..<index]
                return String(decoding: unescaped, as: UTF8.self)
            case UInt8(ascii: "\\"):
                unescaped += bytes[start..<index]
                index += 1
                unescaped += String(try escape()).utf8
                start = index
            case 0..<0x20: throw failure("A string contains a control character")
            default: index += 1
            }
        }
        throw failure("A string lacks its end")
    }

    /// Reads an escape sequence after its backslash.
    private mutating func escape() throws -> Unicode.Scalar {
        guard let byte else { throw failure("A string lacks its end") }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicodeEscape()
        default: throw failure("A string contains an unknown escape")
        }
    }

    private mutating func unicodeEscape() throws -> Unicode.Scalar {
        let unit = try hexUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        if UTF16.isLeadSurrogate(unit), skip(UInt8(ascii: "\\")), skip(UInt8(ascii: "u")) {
            let trail = try hexUnit()
            let combined = 0x10000 + (UInt32(unit) & 0x3FF) << 10 + UInt32(trail) & 0x3FF
            if UTF16.isTrailSurrogate(trail), let scalar = Unicode.Scalar(combined) { return scalar }
        }
        throw failure("A string contains half of a surrogate pair")
    }

    private mutating func hexUnit() throws -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = byte?.hexDigitValue else { throw failure("A string contains an escape without its four digits") }
            unit = unit << 4 | UInt16(digit)
            index += 1
        }
        return unit
    }

    // MARK: bytes

    private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

    /// Skips white space, and returns the next byte without taking it.
    private mutating func next() -> UInt8? {
        while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
        return byte
    }

    private mutating func take(_ expected: Unicode.Scalar) -> Bool {
        guard next() == UInt8(ascii: expected) else { return false }
        index += 1
        return true
    }

    private mutating func skip(_ expected: UInt8) -> Bool {
        guard byte == expected else { return false }
        index += 1
        return true
    }

    private func failure(_ reason: String) -> DecodingError { Self.failure("\(reason), at byte \(index) of \(bytes.count).") }

    private static func failure(_ reason: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: reason))
    }
}
