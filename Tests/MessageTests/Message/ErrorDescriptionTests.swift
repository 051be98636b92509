import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The descriptions of errors: one line with all that a developer needs.
@Suite(.inTurn) struct ErrorDescriptionTests {
    static let titles: [(NessError.Kind, String)] = [
        (.invalidRequest, "invalid request"), (.offline, "offline"), (.cannotConnect, "cannot connect"), (.timedOut, "timed out"),
        (.dropped, "dropped"), (.tls, "TLS failed"), (.connectionLost, "connection lost"), (.truncated, "truncated response"),
        (.malformedResponse, "malformed response"), (.validation, "validation failed"), (.decoding, "decoding failed"),
        (.redirect, "redirect not followed"), (.responseTooLarge, "response too large"), (.duplicate, "duplicate"),
        (.circuitOpen, "circuit open"), (.addressRejected, "address rejected"), (.fileSystem, "file system error"),
        (.notCached, "not cached"),
    ]

    private func request() throws -> HTTPRequest { HTTPRequest(.put, url: try url("http://host.test/path?page=1")) }

    @Test("the description of every case has request, response, number of attempts and reason", arguments: titles)
    func everything(kind: NessError.Kind, title: String) throws {
        let response = HTTPResponse(statusCode: 503, body: Data("try\r\nlater".utf8), request: try request())
        let context = NessError.Context(request: try request(), response: response, attempts: 3, reason: "two\nlines")
        #expect(
            NessError(kind, context).description
                == "PUT http://host.test/path?page=1 → 503 \"try later\" (3 attempts): \(title): two lines")
    }

    @Test("a description omits missing parts")
    func sparse() throws {
        let request = try request()
        func text(_ attempts: Int, _ response: HTTPResponse? = nil) -> String {
            NessError(.offline, NessError.Context(request: request, response: response, attempts: attempts, reason: "why")).description
        }
        #expect(text(0) == "PUT http://host.test/path?page=1 (not sent): offline: why")
        #expect(text(1) == "PUT http://host.test/path?page=1: offline: why")
        #expect(text(1, HTTPResponse(statusCode: 204, request: request)).contains("→ 204 (no body): offline"))
        #expect(NessError(.offline, NessError.Context(request: nil, reason: "why")).description == "request (not sent): offline: why")
    }

    @Test("only the start of a long text body is shown, and only the length of other bodies")
    func longBody() throws {
        func text(_ body: Data) throws -> String {
            let response = HTTPResponse(statusCode: 500, body: body, request: try request())
            return NessError(.validation, NessError.Context(request: response.request, response: response, reason: "no")).description
        }
        let long = try text(Data(String(repeating: "abcdefghij", count: 10_000).utf8))
        #expect(long.contains("\"abcdefghijabc"))
        #expect(long.contains("…"))
        #expect(long.count < 400)
        #expect(try text(Data([0xFF, 0xFE, 0x00])).contains("(3 bytes)"))
        // The cut falls into the middle of a character.
        #expect(try text(Data(("a" + String(repeating: "é", count: 5_000)).utf8)).contains("éé"))
    }

    @Test(
        "invisible characters in body, URL, method, header, cookie and reason become escapes",
        arguments: [
            "\r\n", "\n", "\r", "\0", "\u{1B}[2J", "\u{7F}", "\u{8}", "\u{B}", "\u{C}", "\u{85}", "\u{9B}31m", "\u{2028}",
            "\u{2029}", "\u{202A}", "\u{202E}", "\u{2066}", "\u{2069}", "\u{200E}", "\u{200F}", "\u{61C}", "\u{200B}", "\u{200D}",
            "\u{2060}", "\u{FEFF}", "\u{AD}", "\u{3164}", "\u{E0041}",
        ])
    func oneLine(control: String) throws {
        let request = HTTPRequest(.custom("G\(control)T"), url: try url("http://host.test/a"), headers: ["X": "a\(control)b"])
        let response = HTTPResponse(statusCode: 500, headers: ["X": "a\(control)b"], body: Data("a\(control)b".utf8), request: request)
        let error = NessError(.decoding, NessError.Context(request: request, response: response, reason: "a\(control)b"))
        let built = Result { try Ness().httpRequest(withUrl: "http://x/\(control)").build() }
        let cookie = Cookie(name: "a\(control)b", value: "c", domain: "d\(control)e.test", path: "/f\(control)g")
        let environment = ServerEnvironment(defaultHeaders: ["X": "a\(control)b"])
        let texts = [
            "\(error)", "\(request)", "\(response)", "\(request.headers)", "\(built)", "\(request.method)", "\(environment)",
            "\(TransportError(.connectionLost, "a\(control)b"))", cookie.map { "\($0)" } ?? "",
        ]
        for text in texts {
            #expect(!text.contains { $0.isNewline }, "\(text.debugDescription)")
            #expect(!text.unicodeScalars.contains { $0.value < 32 || (127...159).contains($0.value) }, "\(text.debugDescription)")
            #expect(text.unicodeScalars.allSatisfy { $0 != control.unicodeScalars.first }, "\(text.debugDescription)")
        }
    }

    @Test("the joiners of emoji and of scripts stay, and other invisible scalars become escapes")
    func joiners() {
        for text in ["\u{2764}\u{FE0F}\u{200D}\u{1F525}", "\u{645}\u{6CC}\u{200C}\u{62E}"] { #expect(text.oneLine == text) }
        #expect("to\u{200D}ken".oneLine == #"to\u{200d}ken"#)
        #expect("\u{E9}\u{FE0F}\u{FE0F}\u{FE00}".oneLine == "\u{E9}\u{FE0F}" + #"\u{fe0f}\u{fe00}"#)
        #expect("a \r\n\u{301}b".oneLine == "a \u{301}b")
        #expect("exe.\u{202E}gpj".oneLine == #"exe.\u{202e}gpj"#)
    }

    @Test("errors of requests name method, resolved URL, status, body and reason")
    func real() async throws {
        let rig = Rig(onUnmatched: .reply(.text("it broke", status: 500)))
        rig.mock.on(.get, "/lost") { _ in .failure(.cannotConnect) }
        let text = await rig.ness.delete("things/1").validate(statusCode: 200).dataRequest().nessError()?.description
        #expect(text == "DELETE https://mock.test/things/1 → 500 \"it broke\": validation failed: status 500, expected 200")
        let lost = await rig.ness.get("lost").dataRequest().nessError()?.description
        #expect(lost?.hasPrefix("GET https://mock.test/lost: cannot connect: ") == true)
    }

    @Test("all ways to print an error give the same string")
    func ways() throws {
        let error = NessError(.tls, NessError.Context(request: try request(), reason: "expired"))
        let text = "PUT http://host.test/path?page=1: TLS failed: expired"
        #expect(error.description == text)
        #expect(String(describing: error) == text)
        #expect(String(reflecting: error) == text)
        #expect(error.localizedDescription == text)
        #expect((error as any Error).localizedDescription == text)
        #expect((error as NSError).localizedDescription == text)
        #expect((error as NSError).domain == "Ness.NessError")
        #expect((error as NSError).userInfo[NSLocalizedDescriptionKey] as? String == text)
    }

    @Test("as an NSError, each case has a code")
    func codes() {
        let codes = NessError.Kind.allCases.map { (NessError($0, NessError.Context(request: nil, reason: "")) as NSError).code }
        #expect(Set(codes).count == codes.count)
    }
}
