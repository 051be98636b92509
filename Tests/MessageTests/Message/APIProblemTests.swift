import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Errors in an API's own words: `decodingErrors:` and RFC 9457.
@Suite(.inTurn) struct APIProblemTests {
    private let problem = #"""
        {"type":"https://example.com/out-of-credit","title":"No credit","status":403,"detail":"You have 30, it costs 50.",
        "instance":"/account/1","balance":30,"access_token":"hunter2"}
        """#

    private func rig(_ text: String, _ type: String = "application/problem+json", status: Int = 403) -> Rig {
        Rig(onUnmatched: .reply(.data(Data(text.utf8), contentType: type, status: status)))
    }

    private func failure(_ rig: Rig) async -> NessError? {
        await rig.ness.httpRequest(withUrl: "x").decodingErrors(as: APIProblem.self).dataRequest(decoding: User.self).nessError()
    }

    @Test("a rejected response's body is decoded, and the error holds it beside the response")
    func decoded() async throws {
        let error = await failure(rig(problem))
        #expect(error?.kind == .validation)
        #expect(error?.response?.statusCode == 403)
        #expect(error?.response?.text == problem)
        #expect(error?.context.attempts == 1)
        let found = try #require(error?.underlying as? APIProblem)
        #expect(
            found
                == APIProblem(
                    type: "https://example.com/out-of-credit", title: "No credit", status: 403, detail: "You have 30, it costs 50.",
                    instance: "/account/1", extensions: ["balance": 30, "access_token": "hunter2"]))
        for text in ["\(found)", String(reflecting: found), "\(String(describing: error))"] { #expect(!text.contains("hunter2")) }
        #expect("\(found)" == "https://example.com/out-of-credit (403): No credit: You have 30, it costs 50.")
        #expect(found.localizedDescription == "You have 30, it costs 50.")
    }

    @Test("an API's errors are decoded with a custom type, even for a Void result, by the manager's decoder") func own() async throws {
        struct Refusal: Decodable, Error, Equatable { let errorCode: Int }
        let text = #"{"error_code":7}"#
        let rig = Rig(onUnmatched: .reply(.data(Data(text.utf8), contentType: "application/json", status: 422))) {
            $0.jsonDecoder.keyDecodingStrategy = .convertFromSnakeCase
        }
        let request = rig.ness.httpRequest(.post, withUrl: "x")
        let typed = await request.decodingErrors(as: Refusal.self).dataRequest(decoding: User.self).nessError()
        #expect(typed?.underlying as? Refusal == Refusal(errorCode: 7))
        let void = await request.decodingErrors(as: Refusal.self).dataRequest(decoding: Void.self).nessError()
        #expect(void?.underlying as? Refusal == Refusal(errorCode: 7))
        // Names of extensions stay as they are.
        let problem = await request.decodingErrors(as: APIProblem.self).dataRequest(decoding: User.self).nessError()
        #expect((problem?.underlying as? APIProblem)?.extensions == ["error_code": 7])
    }

    @Test(
        "a body of another form leaves the error without a decoded value",
        arguments: [
            ("<html>", "text/html"), ("<html>", "application/json"), ("[]", "application/json"), ("", "application/json"),
            (#"{"title":"x"}"#, "text/plain"),
        ])
    func none(text: String, type: String) async throws {
        let error = await failure(rig(text, type))
        #expect(error?.kind == .validation)
        #expect(error?.response?.statusCode == 403)
        #expect(error?.underlying == nil)
        let lax = rig(text, type).ness.httpRequest(withUrl: "x").set(checksContentType: false)
        let decoded = await lax.decodingErrors(as: APIProblem.self).dataRequest(decoding: User.self).nessError()?.underlying as? APIProblem
        #expect(decoded?.title == (type == "text/plain" ? "x" : nil))
    }

    @Test("only the body of a rejected status is decoded as an error") func notRefused() async throws {
        let good = rig(#"{"id":1,"name":"a"}"#, "application/json", status: 200)
        let request = good.ness.httpRequest(withUrl: "x")
        #expect(try await request.decodingErrors(as: APIProblem.self).dataRequest(decoding: User.self).value == User(id: 1, name: "a"))
        let refused = request.validate(shouldHaveHeaders: ["X-No": "1"])
        #expect(await refused.decodingErrors(as: APIProblem.self).dataRequest(decoding: User.self).nessError()?.underlying == nil)
        let undecodable = await failure(rig("{}", "application/json", status: 200))
        #expect(undecodable?.kind == .decoding)
        #expect(undecodable?.underlying is DecodingError)
        let offline = Rig(onUnmatched: .reply(.failure(TransportError(.offline, "no"))))
        #expect(await failure(offline)?.kind == .offline)
    }

    @Test("retries come first: the decoded error is that of the last attempt") func retries() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [503, 503, 429].map { .json(APIProblem(title: "\($0)"), status: $0) })
        let control = CounterRetryControl(maxRetryCount: 2)
        let error = await rig.ness.httpRequest(withUrl: "x")
            .decodingErrors(as: APIProblem.self).set(retry: control).dataRequest(decoding: User.self).nessError()
        #expect((error?.underlying as? APIProblem)?.title == "429")
        #expect(error?.context.attempts == 3)
    }

    @Test(
        "a problem's members of another type count as missing (RFC 9457, 3.1), and a missing type is about:blank",
        arguments: [
            ("{}", APIProblem()),
            (#"{"type":1,"title":{},"status":"403","detail":null,"instance":[]}"#, APIProblem()),
            (#"{"status":403.0,"a":{"b":[1]}}"#, APIProblem(status: 403, extensions: ["a": ["b": [1]]])),
            (#"{"type":"/rel"}"#, APIProblem(type: "/rel")),
        ])
    func lenient(text: String, expected: APIProblem) throws {
        #expect(try JSONDecoder().decode(APIProblem.self, from: Data(text.utf8)) == expected)
        let again = try JSONEncoder().encode(expected)
        #expect(try JSONDecoder().decode(APIProblem.self, from: again) == expected)
    }

    @Test("only a JSON object is a problem", arguments: ["[]", "1", "null", "\"x\""])
    func notAnObject(text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(APIProblem.self, from: Data(text.utf8)) }
    }

    /// The error of an API in XML, such as S3's.
    private struct Fault: Error, Equatable { let code: String }
    private struct FaultDecoder: ResponseDecoder {
        func decode(from data: Data) throws -> Fault {
            let text = String(decoding: data, as: UTF8.self)
            guard let start = text.range(of: "<Code>"), let end = text.range(of: "</Code>") else { throw Rejected() }
            return Fault(code: String(text[start.upperBound..<end.lowerBound]))
        }
    }

    /// The ways to send a request, each with the error that it ends with.
    private static let ways: [@Sendable (RequestBuilder, URL) async throws -> Void] = [
        { request, _ in _ = try await request.validate().response() },
        { request, _ in _ = try await request.decoded(as: User.self) },
        { request, _ in try await request.dataRequest(decoding: Void.self).value },
        { request, _ in _ = try await request.data() },
        { request, folder in _ = try await request.downloadRequest(forSavedLocation: folder.appending(path: "a")).value },
        { request, folder in _ = try await request.downloadRequest(intoFolder: folder, segments: 2).value },
        { request, folder in _ = try await request.downloadRequestIfChanged(forSavedLocation: folder.appending(path: "a")).value },
        { request, _ in _ = try await request.validate().streamRequest().value },
        { request, _ in for try await _ in request.lines(decoding: User.self) {} },
        { request, _ in for try await _ in request.events(decoding: User.self) {} },
        { request, _ in for try await _ in request.reconnectingEvents() {} },
    ]

    @Test(
        "an API's errors are decoded however the request is sent, with the manager's type, or by the request's decoder", arguments: 0..<11,
        [true, false])
    func everyWay(way: Int, isXML: Bool) async throws {
        let text = "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code></Error>"
        try await withServer({ _ in
            isXML
                ? .text(text, status: 404, headers: ["Content-Type": "application/xml"]) : .json(APIProblem(title: "gone"), status: 404)
        }) {
            $0.decodingErrors = APIProblem.self
        } _: { _, ness in
            try await withFolder { folder in
                let request = isXML ? ness.get("x").decodingErrors(by: FaultDecoder()) : ness.get("x")
                let error = await #expect(throws: NessError.self) { try await Self.ways[way](request, folder) }
                #expect(error?.kind == .validation && error?.response?.statusCode == 404)
                #expect(error?.underlying as? Fault == (isXML ? Fault(code: "NoSuchKey") : nil))
                #expect((error?.underlying as? APIProblem)?.title == (isXML ? nil : "gone"))
                #expect(folder.entries.isEmpty)
            }
        }
    }

    @Test("a type that the call names precedes the request's decoder, and a body that the decoder rejects gives no API error")
    func precedence() async throws {
        let request = rig(problem).ness.get("x").decodingErrors(by: FaultDecoder())
        #expect(await request.decodingErrors(as: APIProblem.self).dataRequest(decoding: User.self).nessError()?.underlying is APIProblem)
        let refused = await request.dataRequest(decoding: User.self).nessError()
        #expect(refused?.kind == .validation && refused?.underlying == nil)
        let empty = await rig("").ness.get("x").decodingErrors(by: FaultDecoder()).dataRequest(decoding: User.self).nessError()
        #expect(empty?.kind == .validation && empty?.underlying == nil)
    }
}
