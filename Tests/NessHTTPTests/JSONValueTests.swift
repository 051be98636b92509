import Foundation
import NessHTTP
import Testing

@Suite struct JSONValueTests {
    @Test("literals of every kind, nested and mixed, need no annotation")
    func literals() {
        let name = "Fluffles"
        let value: JSONValue = ["name": "\(name)!", "age": 3, "weight": 1.5, "ok": true, "tags": ["a", 1, true, nil], "none": nil]
        let tags: JSONValue = .array([.string("a"), .integer(1), .bool(true), .null])
        #expect(value["name"] == "Fluffles!")
        #expect(value["tags"] == tags)
        #expect(value["none"] == .some(.null))
        #expect(value["none"]?.isNull == true)
        #expect(value["absent"] == nil)
        #expect(value.objectValue?.count == 6)
        #expect(JSONValue(UInt64.max) == .unsigned(.max))
        #expect(JSONValue(UInt8(7)) == 7)
    }

    @Test("a key that stands twice in a literal does not trap: the last value counts")
    func duplicateKeyInLiteral() {
        let value: JSONValue = ["a": 1, "b": 2, "a": 3]
        #expect(value == ["a": 3, "b": 2])
    }

    @Test("accessors answer nil for what is not there and never trap")
    func accessors() {
        let value: JSONValue = ["list": [1, 2.5, "x"], "flag": false]
        #expect(value["list"]?[0]?.intValue == 1)
        #expect(value["list"]?[1]?.intValue == nil)
        #expect(value["list"]?[1]?.doubleValue == 2.5)
        #expect(value["list"]?[0]?.doubleValue == 1)
        #expect(value["list"]?[2]?.stringValue == "x")
        #expect(value["list"]?[3] == nil)
        #expect(value["list"]?[-1] == nil)
        #expect(value["list"]?["x"] == nil)
        #expect(value[0] == nil)
        #expect(value["flag"]?.boolValue == false)
        #expect(value["flag"]?.intValue == nil)
        #expect(value["list"]?.arrayValue?.count == 3)
        #expect(JSONValue.unsigned(.max).intValue == nil)
        #expect(JSONValue.number(3).intValue == 3)
        #expect(JSONValue.number(.nan).intValue == nil)
    }

    @Test(
        "whole numbers of 64 bits survive a round trip",
        arguments: [
            "0", "-1", "9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775808", "18446744073709551615",
        ])
    func integers(text: String) throws {
        let value = try JSONValue(parsing: Data(text.utf8))
        #expect(String(decoding: try value.encoded(), as: UTF8.self) == text)
    }

    @Test(
        "numbers survive a round trip",
        arguments: [
            0.1, -0.0, 1.0, 0x1p53, 0x1p60, 0x1p63, 0x1p64, -0x1p63, 1e16, 1e19, 1e20, 1.7976931348623157e308, 2.2250738585072014e-308,
        ])
    func doubles(number: Double) throws {
        let value = try JSONValue(parsing: JSONValue.number(number).encoded())
        #expect(value == .number(number))
        #expect(value.doubleValue == number)
    }

    @Test("equal numbers are equal and hash alike, whichever case holds them")
    func numbersCompareByValue() {
        let ones: Set<JSONValue> = [.integer(1), .unsigned(1), .number(1), 1, 1.0]
        #expect(ones.count == 1)
        #expect(JSONValue.number(0x1p53) != .integer(9_007_199_254_740_993))
        #expect(JSONValue.unsigned(1 << 63) == .number(0x1p63))
        #expect(JSONValue.integer(1) != .bool(true))
        #expect(JSONValue.integer(1) != "1")
    }

    @Test("NaN and infinity are an encoding error", arguments: [Double.nan, .infinity, -.infinity])
    func notANumber(number: Double) {
        #expect(throws: EncodingError.self) { try JSONValue.array([.number(number)]).encoded() }
        #expect(throws: EncodingError.self) { try JSONValue.number(number).encoded() }
    }

    @Test("keys are sorted and slashes left alone, so the text is stable")
    func stableText() throws {
        let value: JSONValue = ["b": "a/b", "a": ["z": 1, "y": nil], "é": "\"\n\u{1}😀", "B": []]
        let text = String(decoding: try value.encoded(), as: UTF8.self)
        #expect(text == #"{"B":[],"a":{"y":null,"z":1},"b":"a/b","é":"\"\n\u0001😀"}"#)
        #expect(try JSONValue(parsing: Data(text.utf8)) == value)
    }

    @Test(
        "what is not JSON is a decoding error",
        arguments: ["", " ", "{", "[1 2]", "01", "1.", "nul", "{} x", "'a'", "1e400", "{\"a\"}", "\"\\ud800\"", "[NaN]"])
    func malformed(text: String) {
        #expect(throws: DecodingError.self) { try JSONValue(parsing: Data(text.utf8)) }
    }

    @Test("nesting is read and written to 500 levels and refused beyond, without overflowing the stack")
    func nesting() throws {
        for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
            let innermost = open == "[" ? "[]" : "{}"
            let deepest = String(repeating: open, count: 499) + innermost + String(repeating: close, count: 499)
            let value = try JSONValue(parsing: Data(deepest.utf8))
            #expect(String(decoding: try value.encoded(), as: UTF8.self) == deepest)
            #expect(throws: EncodingError.self) { try JSONValue.array([value]).encoded() }
            for depth in [500, 511, 512, 513, 100_000] {
                let text = String(repeating: open, count: depth) + innermost + String(repeating: close, count: depth)
                #expect(throws: DecodingError.self) { try JSONValue(parsing: Data(text.utf8)) }
            }
        }
        #expect(throws: DecodingError.self) { try JSONValue(parsing: Data(repeating: UInt8(ascii: "["), count: 100_000)) }
    }

    @Test("the error for nesting too deep holds nothing of the value")
    func nestingErrorIsDiscreet() throws {
        var value: JSONValue = "secret"
        for _ in 0..<1000 { value = [value] }
        let error = try #require(throws: EncodingError.self) { try value.encoded() }
        #expect(!"\(error)".contains("secret"))
    }

    @Test("stands inside a type of one's own, where key strategies leave its keys alone")
    func insideCodable() throws {
        struct Envelope: Codable, Equatable { let userId: Int; let extra: JSONValue; let more: JSONValue? }
        let envelope = Envelope(userId: 1, extra: ["snake_key": [1, nil], "camelKey": .unsigned(.max)], more: nil)
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let data = try encoder.encode(envelope)
        #expect(try JSONValue(parsing: data) == ["user_id": 1, "extra": envelope.extra])
        #expect(try decoder.decode(Envelope.self, from: data) == envelope)
    }
}
