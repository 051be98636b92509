import Foundation
import TestSupport
import Testing

@testable import NessHTTP

@Suite(.inTurn(.withoutSockets)) struct JSONValueTests {
    @Test("literals of every kind, nested and mixed, need no annotation")
    func literals() {
        let name = "Fluffles"
        let value: JSONValue = ["name": "\(name)!", "age": 3, "weight": 1.5, "ok": true, "tags": ["a", 1, true, nil], "none": nil]
        let tags: JSONValue = .array([.string("a"), .integer(1), .bool(true), .null])
        #expect(value["name"] == "Fluffles!")
        #expect(value["tags"] == tags)
        #expect(value["none"] == .some(.null))
        #expect(value["none"] == .null)
        #expect(value["absent"] == nil)
        #expect(value.objectValue?.count == 6)
        #expect(JSONValue(UInt64.max) == .unsigned(.max))
        #expect(JSONValue(UInt8(7)) == 7)
    }

    @Test(
        "variables of any integer type stand in a literal, and `.number` of a whole number equals the integer; the last of two keys counts")
    func variables() throws {
        let count = 3, size = UInt64.max, small = Int8(-1)
        let value: JSONValue = [
            "a": 1, "b": [1, 2.5, nil], "c": JSONValue(count), "a": 2, "d": .number(3), "e": [JSONValue(size), JSONValue(small)],
        ]
        #expect(value["c"] == value["d"] && value["c"] == 3 && value["d"]?.intValue == 3 && value["c"]?.doubleValue == 3)
        let text = String(decoding: try value.encoded(), as: UTF8.self)
        #expect(text == #"{"a":2,"b":[1,2.5,null],"c":3,"d":3,"e":[18446744073709551615,-1]}"#)
    }

    @Test("accessors return nil for a missing value and never trap")
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

    @Test("equal numbers are equal and hash alike, even in different cases")
    func numbersCompareByValue() {
        let ones: Set<JSONValue> = [.integer(1), .unsigned(1), .number(1), 1, 1.0]
        #expect(ones.count == 1)
        #expect(JSONValue.number(0x1p53) != .integer(9_007_199_254_740_993))
        #expect(JSONValue.unsigned(1 << 63) == .number(0x1p63))
        #expect(JSONValue.integer(1) != .bool(true))
        #expect(JSONValue.integer(1) != "1")
    }

    @Test("different values hash differently, so that a large set stays fast")
    func hashes() {
        let values: [JSONValue] = [nil, false, true, 1, 2, "a", "b", ["a"], ["b"], ["a": 1], ["a": 2]]
        #expect(Set(values.map(\.hashValue)).count == values.count)
    }

    @Test("NaN and infinity are an encoding error", arguments: [Double.nan, .infinity, -.infinity])
    func notANumber(number: Double) {
        #expect(throws: EncodingError.self) { try JSONValue.array([.number(number)]).encoded() }
        #expect(throws: EncodingError.self) { try JSONValue.number(number).encoded() }
    }

    @Test("keys are sorted and slashes unescaped, so the text is stable")
    func stableText() throws {
        let value: JSONValue = ["b": "a/b", "a": ["z": 1, "y": nil], "é": "\"\n\u{1}😀", "B": []]
        let text = String(decoding: try value.encoded(), as: UTF8.self)
        #expect(text == #"{"B":[],"a":{"y":null,"z":1},"b":"a/b","é":"\"\n\u0001😀"}"#)
        #expect(try JSONValue(parsing: Data(text.utf8)) == value)
    }

    @Test(
        "a string that is not JSON is a decoding error",
        arguments: [
            "", " ", "{", "[", "]", "[1 2]", "[1,]", "[,1]", "{\"a\":1,}", "{\"a\"}", "{a:1}", "{\"a\" 1}", "01", "-", "-01", "1.", ".5",
            "+1", "1e", "1e+", "0x1", "1e400", "nul", "nulll", "tru", "True", "{} x", "'a'", "[NaN]", "\"", "\"\\", "\"\\x\"", "\"\\u12",
            "\"\\u12g4\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\ud800\\n\"", "\"\\ud83d\\nde00\"", "\"\n\"",
            "\u{FEFF}",
        ])
    func malformed(text: String) {
        #expect(throws: DecodingError.self) { try JSONValue(parsing: Data(text.utf8)) }
    }

    @Test("bytes that are not UTF-8 are a decoding error", arguments: [[0x22, 0xFF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22]] as [[UInt8]])
    func notUTF8(bytes: [UInt8]) { #expect(throws: DecodingError.self) { try JSONValue(parsing: Data(bytes)) } }

    @Test("white space, a byte order mark, escapes, exponents, a slice of data and a repeated key are read")
    func lenient() throws {
        let text = "\u{FEFF}{ \"a\\u00e9\\ud83d\\ude00\\\"\\\\\\/\\b\\f\\n\\r\\t\" : [ 1 , -0 ,\t2E+2,3e1,\r\n{ } ] , \"k\": 1, \"k\": 2 } "
        let expected: JSONValue = ["aé😀\"\\/\u{8}\u{C}\n\r\t": [1, 0, 200, 30, [:]], "k": 2]
        #expect(try JSONValue(parsing: Data(text.utf8)) == expected)
        #expect(try JSONValue(parsing: Data("xx[1]".utf8).dropFirst(2)) == [1])
    }

    #if canImport(FoundationNetworking)
    @Test("Foundation's readers on Linux accept what is not JSON, take the first of two keys, and cast 1 to true")
    func foundationReads() throws {
        for text in ["[1,]", #"{"a":1,}"#, "[\0]\0"] {
            #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
            #expect(throws: Never.self) { try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) }
            #expect(throws: DecodingError.self) { try JSONValue(parsing: Data(text.utf8)) }
        }
        let twice = Data(#"{"a":1,"a":2}"#.utf8)
        #expect(try JSONDecoder().decode(JSONValue.self, from: twice) == ["a": 1])
        #expect(try JSONValue(parsing: twice) == ["a": 2])
        let one = Data("[1]".utf8)
        #expect(try JSONSerialization.jsonObject(with: one) as? [Bool] == [true])
        #expect(try JSONValue(parsing: one) == [1])
    }

    @Test("Foundation's writers on Linux change integers, and one of them the order of keys", arguments: [true, false])
    func foundationWrites(byEncoder: Bool) throws {
        let value: JSONValue = ["10": .number(0x1p60), "9": 1, "B": 2, "a": 3]
        #expect(try String(decoding: value.encoded(), as: UTF8.self) == #"{"10":1152921504606846976,"9":1,"B":2,"a":3}"#)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let object: [String: Double] = ["10": 0x1p60, "9": 1, "B": 2, "a": 3]
        let written = byEncoder ? try encoder.encode(object) : try JSONSerialization.data(withJSONObject: object, options: .sortedKeys)
        let expected =
            byEncoder
            ? #"{"10":1.152921504606847e+18,"9":1,"B":2,"a":3}"# : #"{"9":1,"10":1.152921504606847e+18,"a":3,"B":2}"#
        #expect(String(decoding: written, as: UTF8.self) == expected)
    }
    #endif

    @Test("JSONDecoder reads our output, and we read JSONEncoder's")
    func agreesWithFoundation() throws {
        let every = String(String.UnicodeScalarView((0..<0x300).compactMap { Unicode.Scalar($0 as UInt32) }))
        let value: JSONValue = ["\(every)": ["\(every)", 1, -2.5e-300, true, nil, [:], []], "k": .unsigned(.max), "n": .number(0x1p60)]
        #expect(try JSONDecoder().decode(JSONValue.self, from: value.encoded()) == value)
        #expect(try JSONValue(parsing: JSONEncoder().encode(value)) == value)
    }

    @Test("hostile text, deep and wide, is read in linear time")
    func hostile() throws {
        let strings = Array(repeating: #""a""#, count: 20_000).joined(separator: ",")
        let text = String(repeating: "[", count: 250) + strings + String(repeating: "]", count: 250)
        #expect(try JSONValue(parsing: Data(text.utf8)).encoded() == Data(text.utf8))
        let arrays = text.replacing(#""a""#, with: "[]")
        #expect(try JSONValue(parsing: Data(arrays.utf8)).encoded() == Data(arrays.utf8))
    }

    @Test("nesting is read and written to 256 levels; deeper nesting is rejected without overflowing the stack")
    func nesting() throws {
        // In the third form, an array has ended on each level. It does not count.
        for (open, close) in [("[", "]"), (#"{"a":"#, "}"), ("[[],", "]")] {
            let innermost = open == "[" ? "[]" : "{}"
            let deepest = String(repeating: open, count: 255) + innermost + String(repeating: close, count: 255)
            let value = try JSONValue(parsing: Data(deepest.utf8))
            #expect(String(decoding: try value.encoded(), as: UTF8.self) == deepest)
            #expect(throws: EncodingError.self) { try JSONValue.array([value]).encoded() }
            for depth in [256, 511, 512, 513, 100_000] {
                let text = String(repeating: open, count: depth) + innermost + String(repeating: close, count: depth)
                #expect(throws: DecodingError.self) { try JSONValue(parsing: Data(text.utf8)) }
            }
        }
        #expect(throws: DecodingError.self) { try JSONValue(parsing: Data(repeating: UInt8(ascii: "["), count: 100_000)) }
    }

    @Test("JSON with too many values is rejected, however small each is") func tooMany() throws {
        #expect(try JSONReader.read(Data("[1,{\"a\":2}]".utf8), maximumCount: 4) == [1, ["a": 2]])
        #expect(throws: DecodingError.self) { try JSONReader.read(Data("[1,{\"a\":2},3]".utf8), maximumCount: 4) }
    }

    @Test("the deepest value fits the 512 kB stack of a secondary thread")
    func smallStack() async {
        let survived = await onSmallStack {
            let text = Self.deep(JSONValue.maximumDepth)
            return try JSONValue(parsing: text).encoded() == text
        }
        #expect(survived)
    }

    @Test("the deepest value within Codable fits the 512 kB stack of a secondary thread")
    func smallStackWithCodable() async {
        let survived = await onSmallStack {
            let text = Self.deep(JSONValue.maximumCodableDepth)
            let value = try JSONDecoder().decode(JSONValue.self, from: text)
            return try JSONEncoder().encode(value) == text
        }
        #expect(survived)
    }

    @Test("within Codable, nesting is read and written to 100 levels; deeper nesting is an error")
    func nestingWithinCodable() throws {
        func arrays(_ depth: Int) -> Data { Data((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8) }
        let deepest = arrays(100), deeper = arrays(101)
        let value = try JSONDecoder().decode(JSONValue.self, from: deepest)
        #expect(try JSONEncoder().encode(value) == deepest)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: deeper) }
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(JSONValue(parsing: deeper)) }
    }

    /// Returns nested objects and arrays, as text.
    private static func deep(_ depth: Int) -> Data {
        Data((String(repeating: #"{"a":["#, count: depth / 2) + String(repeating: "]}", count: depth / 2)).utf8)
    }

    private func onSmallStack(_ work: @escaping @Sendable () throws -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            let thread = Thread { continuation.resume(returning: (try? work()) ?? false) }
            thread.stackSize = isSanitized ? 8 << 20 : 512 << 10
            thread.start()
        }
    }

    @Test(
        "within Codable, deep values are read like separate JSON",
        arguments: [
            #""a""#, "1", "true", "null", "{}", #"[],"a""#, #"{"a":1,"b":{},"c":[true,2.5]}"#, #"["a",1,true,{},null,[]]"#,
            #"1,0,true,1,false,"true","1","no","a",null,2.5,[],{},[[]],{"a":1},"abcdef","false","-1""#,
            #"{"a":1,"b":"x","c":[1]},{"a":"1","b":2,"c":{}},{"c":null,"b":[true],"a":{"a":0}}"#,
        ])
    func deepWithinCodable(element: String) throws {
        let elements = Array(repeating: element, count: 100).joined(separator: ",")
        for (open, close) in [("[", "]"), (#"{"a":"#, "}"), (#"[1,{"a":"#, "}]")] {
            let depth = 96 / open.count { $0 == "[" || $0 == "{" }
            let text = String(repeating: open, count: depth) + "[\(elements)]" + String(repeating: close, count: depth)
            let value = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
            #expect(try value == JSONValue(parsing: Data(text.utf8)))
        }
    }

    @Test("a property list keeps the kinds of its values")
    func propertyList() throws {
        let value: [JSONValue] = [["a": 1, "b": "1"], ["a": "1", "b": [true]]]
        #expect(try PropertyListDecoder().decode([JSONValue].self, from: PropertyListEncoder().encode(value)) == value)
    }

    @Test("the error for too deep nesting contains no part of the value")
    func nestingErrorIsDiscreet() throws {
        var value: JSONValue = "secret"
        for _ in 0..<1000 { value = [value] }
        let error = try #require(throws: EncodingError.self) { try value.encoded() }
        #expect(!"\(error)".contains("secret"))
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(value) }
    }

    @Test("inside another Codable type, key strategies leave the keys unchanged")
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

/// True if the thread sanitizer runs in this process. It makes stack frames several times as large.
private let isSanitized = dlsym(UnsafeMutableRawPointer(bitPattern: 0), "__tsan_init") != nil
