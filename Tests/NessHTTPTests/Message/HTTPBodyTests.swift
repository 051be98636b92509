import Foundation
import NessHTTP
import TestSupport
import Testing

@Suite(.inTurn(.withoutSockets)) struct HTTPBodyTests {
    @Test("a body of bytes has no header fields")
    func bytes() {
        let body = HTTPBody(Data([0, 255, 13, 10]))
        #expect(body.data == Data([0, 255, 13, 10]))
        #expect(body.headers.isEmpty)
    }

    @Test("text is encoded in the given encoding")
    func text() throws {
        let utf8 = try HTTPBody.text("grün")
        #expect(utf8.data == Data([0x67, 0x72, 0xC3, 0xBC, 0x6E]))
        #expect(utf8.headers == ["Content-Type": "text/plain; charset=utf-8"])

        let latin = try HTTPBody.text("grün", encoding: .isoLatin1)
        #expect(latin.data == Data([0x67, 0x72, 0xFC, 0x6E]))
        #expect(latin.headers["content-type"]?.hasPrefix("text/plain") == true)
        #expect(latin.headers["content-type"]?.contains("utf-8") == false)

        #expect(try HTTPBody.text("a", encoding: .utf16BigEndian).data == Data([0, 0x61]))
        #expect(try HTTPBody.text("").data?.isEmpty == true)
    }

    @Test("text that the encoding cannot represent is an error", arguments: [String.Encoding.ascii, .isoLatin1])
    func notEncodable(encoding: String.Encoding) {
        let error = #expect(throws: HTTPBodyError.self) { try HTTPBody.text("漢", encoding: encoding) }
        #expect(error?.description.contains("can't be represented") == true)
    }

    @Test("a JSON literal is written in the order of its keys")
    func jsonLiteral() throws {
        let body = try HTTPBody.json(["b": 1, "a": [true, nil, "x\n"]])
        #expect(String(decoding: body.data ?? Data(), as: UTF8.self) == #"{"a":[true,null,"x\n"],"b":1}"#)
        #expect(body.headers == ["Content-Type": "application/json"])
    }

    @Test("an encodable value is encoded by the given encoder")
    func jsonEncodable() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        encoder.dateEncodingStrategy = .secondsSince1970
        let body = try HTTPBody.json(encoding: ["n": Date(timeIntervalSince1970: 5), "a": Date(timeIntervalSince1970: 7)], with: encoder)
        #expect(String(decoding: body.data ?? Data(), as: UTF8.self) == #"{"a":7,"n":5}"#)
        #expect(body.headers == ["Content-Type": "application/json"])
        #expect(try HTTPBody.json(encoding: 1.5).data == Data("1.5".utf8))
        #expect(try HTTPBody.json(encoding: ["k": 1] as JSONValue).data == Data(#"{"k":1}"#.utf8))
    }

    @Test("a number that is not finite is an error", arguments: [Double.nan, .infinity, -.infinity])
    func notFinite(number: Double) {
        #expect(throws: EncodingError.self) { try HTTPBody.json(encoding: ["n": number]) }
        #expect(throws: EncodingError.self) { try HTTPBody.json(["n": .number(number)]) }
    }

    @Test("a form is percent-encoded, in order")
    func form() {
        let body = HTTPBody.form(["name": "a b", "q": "1+1=2&x", "name": "ü"])
        #expect(String(decoding: body.data ?? Data(), as: UTF8.self) == "name=a%20b&q=1%2B1%3D2%26x&name=%C3%BC")
        #expect(body.headers == ["Content-Type": "application/x-www-form-urlencoded"])
    }
}
