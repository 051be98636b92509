import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Errors in an API's own words: `decodingErrors:` and RFC 9457.
@Suite(.inTurn(.withoutSockets)) struct APIProblemTests {
    private let problem = #"""
        {"type":"https://example.com/out-of-credit","title":"No credit","status":403,"detail":"You have 30, it costs 50.",
        "instance":"/account/1","balance":30,"access_token":"hunter2"}
        """#

    private func rig(_ text: String, _ type: String = "application/problem+json", status: Int = 403) -> Rig {
        Rig(onUnmatched: .reply(.data(Data(text.utf8), contentType: type, status: status)))
    }

    private func failure(_ rig: Rig) async -> NessError? {
        await rig.ness.httpRequest(withUrl: "x").dataRequest(decoding: User.self, decodingErrors: APIProblem.self).nessError()
    }

    @Test("a refused response's body is decoded, and the error holds it beside the response", .covers("PMH-57"))
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

    @Test("an API's errors are decoded with a custom type, also for a Void result, by the manager's decoder") func own() async throws {
        struct Refusal: Decodable, Error, Equatable { let errorCode: Int }
        let text = #"{"error_code":7}"#
        let rig = Rig(onUnmatched: .reply(.data(Data(text.utf8), contentType: "application/json", status: 422))) {
            $0.jsonDecoder.keyDecodingStrategy = .convertFromSnakeCase
        }
        let request = rig.ness.httpRequest(.post, withUrl: "x")
        let typed = await request.dataRequest(decoding: User.self, decodingErrors: Refusal.self).nessError()
        #expect(typed?.underlying as? Refusal == Refusal(errorCode: 7))
        let void = await request.dataRequest(decoding: Void.self, decodingErrors: Refusal.self).nessError()
        #expect(void?.underlying as? Refusal == Refusal(errorCode: 7))
        // Names of extensions stay as they are.
        let problem = await request.dataRequest(decoding: User.self, decodingErrors: APIProblem.self).nessError()
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
        let decoded = await lax.dataRequest(decoding: User.self, decodingErrors: APIProblem.self).nessError()?.underlying as? APIProblem
        #expect(decoded?.title == (type == "text/plain" ? "x" : nil))
    }

    @Test("only a refused status has its body decoded as an error") func notRefused() async throws {
        let good = rig(#"{"id":1,"name":"a"}"#, "application/json", status: 200)
        let request = good.ness.httpRequest(withUrl: "x")
        #expect(try await request.dataRequest(decoding: User.self, decodingErrors: APIProblem.self).value == User(id: 1, name: "a"))
        let refused = request.validate(shouldHaveHeaders: ["X-No": "1"])
        #expect(await refused.dataRequest(decoding: User.self, decodingErrors: APIProblem.self).nessError()?.underlying == nil)
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
            .dataRequest(decoding: User.self, decodingErrors: APIProblem.self, with: control).nessError()
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
}
