import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The text of a response, and the encoding that it was decoded from.
@Suite(.inTurn) struct TextTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        var type: String
        var bytes: [UInt8]
        var encoding: TextEncoding
        var text: String

        var testDescription: String { "\(type) \(text)" }
    }

    private static let page = Array("<html><head><META charset='windows-1251'></head>".utf8)
    private static let oldPage = Array(
        #"<!-- <meta charset=gbk> --><meta content="text/html; charset=koi8-r" http-equiv="Content-Type">"#.utf8)

    private static func endingAt(_ length: Int) -> String { String(repeating: " ", count: length - 18) + "<meta charset=gbk>" }

    static let samples = [
        Sample(type: "text/plain; charset=gb2312", bytes: [0xC4, 0xE3, 0xBA, 0xC3], encoding: .gbk, text: "你好"),
        Sample(type: "text/plain; charset=EUC-JP", bytes: [0xC6, 0xFC, 0xCB, 0xDC], encoding: .eucJP, text: "日本"),
        Sample(type: "text/plain; charset=x-sjis", bytes: [0x93, 0xFA, 0x81], encoding: .shiftJIS, text: "日\u{FFFD}"),
        Sample(type: "text/plain; charset=euc-kr", bytes: [0xC7, 0xD1], encoding: .eucKR, text: "한"),
        Sample(type: "text/plain; charset=\"Latin1\"", bytes: [0x80, 0xE9], encoding: .windows1252, text: "€é"),
        Sample(type: "text/plain; charset=iso-8859-15", bytes: [0xA4], encoding: .iso885915, text: "€"),
        Sample(type: "text/plain; charset=utf-16", bytes: [0x41, 0, 0, 0xD8, 0x42, 0], encoding: .utf16LE, text: "A\u{FFFD}B"),
        Sample(type: "text/plain; charset=utf-16", bytes: [0xFE, 0xFF, 0, 0x41], encoding: .utf16BE, text: "A"),
        Sample(type: "text/plain; charset=gbk", bytes: [0xEF, 0xBB, 0xBF, 0xC3, 0xA9], encoding: .utf8, text: "é"),
        Sample(type: "text/plain", bytes: [0xFF, 0xFE, 0x41, 0], encoding: .utf16LE, text: "A"),
        Sample(type: "text/plain", bytes: [0x61, 0xFF, 0x62], encoding: .utf8, text: "a\u{FFFD}b"),
        Sample(type: "text/plain; charset=x-unknown", bytes: [0xC3, 0xA9], encoding: .utf8, text: "é"),
        Sample(type: "text/html", bytes: page + [0xDF], encoding: .windows1251, text: "<html><head><META charset='windows-1251'></head>Я"),
        Sample(
            type: "text/html; charset=x-unknown", bytes: oldPage + [0xF1], encoding: .koi8R,
            text: String(decoding: oldPage, as: UTF8.self) + "Я"),
        Sample(
            type: "text/html; charset=windows-1252", bytes: page + [0xDF], encoding: .windows1252,
            text: String(decoding: page, as: UTF8.self) + "ß"),
        Sample(type: "text/plain", bytes: page + [0xC3, 0x9F], encoding: .utf8, text: String(decoding: page, as: UTF8.self) + "ß"),
        Sample(type: "text/html", bytes: Array("<meta charset=utf-16>é".utf8), encoding: .utf8, text: "<meta charset=utf-16>é"),
        Sample(
            type: "text/html", bytes: Array("<meta charset=nonsense><meta name=charset content=gbk>é".utf8), encoding: .utf8,
            text: "<meta charset=nonsense><meta name=charset content=gbk>é"),
        // The first of two attributes with one name counts. Text without a `<` is not a tag.
        Sample(
            type: "text/html", bytes: Array("<meta charset=koi8-r charset=gbk>".utf8), encoding: .koi8R,
            text: "<meta charset=koi8-r charset=gbk>"),
        Sample(type: "text/html", bytes: Array("<p> meta charset=gbk >".utf8), encoding: .utf8, text: "<p> meta charset=gbk >"),
        Sample(type: "text/html", bytes: Array(endingAt(1_024).utf8), encoding: .gbk, text: endingAt(1_024)),
        Sample(type: "text/html", bytes: Array(endingAt(1_025).utf8), encoding: .utf8, text: endingAt(1_025)),
    ]

    @Test("a byte order mark, the Content-Type and an HTML page's meta element decide on the encoding, in this order", arguments: samples)
    func encoding(sample: Sample) async throws {
        let answer: TestServer.Handler = { _ in .data(Data(sample.bytes), contentType: sample.type) }
        for usesURLSession in [false, true] {
            try await withServer(answer, configure: { if usesURLSession { $0.transport = URLSessionTransport() } }) { _, ness in
                let response = try await ness.get("a").response()
                #expect(response.textEncoding == sample.encoding)
                #expect(response.text.unicodeScalars.elementsEqual(sample.text.unicodeScalars))
                #expect(try await ness.get("a").text() == response.text)
            }
        }
    }

    @Test(
        "a page's content attribute names its encoding after the first charset with an equals sign",
        arguments: [
            ("text/html charset=koi8-r", TextEncoding.koi8R), ("charset=koi8-r", .koi8R), ("xcharset = 'koi8-r' ;", .koi8R),
            ("charset charset=koi8-r;charset=gbk", .koi8R), ("text/html; charset='koi8-r", .utf8), ("text/html; charset", .utf8),
        ])
    func content(text: String, encoding: TextEncoding) throws {
        let page = Data("<meta http-equiv=Content-Type content=\"\(text)\">".utf8), request = HTTPRequest(url: try url("http://h/"))
        let response = HTTPResponse(statusCode: 200, headers: ["Content-Type": "text/html"], body: page, request: request)
        #expect(response.textEncoding == encoding)
    }

    @Test("a caller can choose another encoding, which a byte order mark does not override")
    func chosen() throws {
        var response = HTTPResponse(statusCode: 200, body: Data([0x93, 0xFA]), request: HTTPRequest(url: try url("http://h/")))
        #expect(response.text == "\u{FFFD}\u{FFFD}" && response.text(as: .shiftJIS) == "日")
        response.body = Data([0xFF, 0xFE, 0x41, 0])
        #expect(response.text(as: .windows1252) == "ÿþA\0" && response.text(as: .utf16LE) == "A")
    }

    @Test("lines of a stream are read as UTF-8, without a byte order mark")
    func lines() async throws {
        let body = Data([0xEF, 0xBB, 0xBF, 0xC3, 0xA9, 10, 0xEF, 0xBB, 0xBF, 0xE9, 10])
        try await withServer { _ in
            .data(body, contentType: "text/plain; charset=iso-8859-1")
        } _: { _, ness in
            var lines: [String] = []
            for try await line in ness.get("a").streamRequest().lines { lines.append(line) }
            #expect(lines.map { Array($0.unicodeScalars) } == [["é"], ["\u{FEFF}", "\u{FFFD}"]])
        }
    }
}
