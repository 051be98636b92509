import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The validators without a type of the caller's: 2xx, media types, and closures.
@Suite(.inTurn(.withoutSockets)) struct ValidationTests {
    private struct TooOld: Error, Equatable { let version: String }

    private func rig(_ reply: Reply) -> Rig {
        let rig = Rig()
        rig.mock.on(nil, "/x") { _ in reply }
        return rig
    }

    @Test(
        "one of several media types is required, with wildcards and without regard to parameters and case",
        arguments: [
            ("application/json", true), ("Application/JSON; charset=utf-8", true), ("image/png", true), ("image/svg+xml", true),
            ("imagery/png", false), ("text/html", false), ("application/json5", false), ("image", false), ("", false),
        ])
    func mediaTypes(type: String, isAccepted: Bool) async throws {
        let rig = rig(.data(Data("a".utf8), headers: ["Content-Type": type]))
        let promise = rig.ness.httpRequest(withUrl: "x").validate(contentTypes: ["application/json; q=1", "IMAGE/*"]).dataRequest()
        if isAccepted { _ = try await promise.value } else { #expect(await promise.nessError()?.kind == .validation) }
        _ = try await rig.ness.httpRequest(withUrl: "x").validate(contentTypes: ["text/plain", "*/*"]).dataRequest().value
    }

    @Test("a response without content has no type to check; other content without a type is rejected", arguments: [204, 205, 304, 200])
    func noContent(status: Int) async throws {
        let transport = FakeTransport { request, receive in
            let length: HTTPHeaders = request.url.path == "/zero" ? ["Content-Length": "0"] : [:]
            try await receive(.head(statusCode: status, headers: length))
            if request.url.path == "/some" { try await receive(.body(Data("a".utf8))) }
        }
        let ness = Ness { $0.transport = transport }
        for path in ["zero", "none"] where path == "zero" || status != 200 {
            _ = try await ness.httpRequest(withUrl: "http://x/\(path)").validate(contentTypes: ["text/plain"]).dataRequest().value
        }
        guard status == 200 else { return }
        let error = await ness.httpRequest(withUrl: "http://x/some").validate(contentTypes: ["text/plain"]).dataRequest().nessError()
        #expect(error?.kind == .validation && error?.context.reason.contains("text/plain") == true)
    }

    @Test(
        "the error that a closure throws is the cause of the validation failure, for data, downloads and streams",
        arguments: ["data", "file", "stream"])
    func closure(kind: String) async throws {
        let rig = rig(.text("body", headers: ["API-Version": "1"]))
        let request = rig.ness.httpRequest(withUrl: "x").validate { response in
            throw TooOld(version: response.headers["API-Version"] ?? "")
        }
        try await withFolder { folder in
            let error =
                switch kind {
                case "data": await request.dataRequest().nessError()
                case "file": await request.downloadRequest(forSavedLocation: folder.appending(path: "a")).nessError()
                default: await request.streamRequest().nessError()
                }
            #expect(error?.kind == .validation)
            #expect(error?.underlying as? TooOld == TooOld(version: "1"))
            #expect(error?.response?.text == "body")
            #expect(error?.context.reason.contains("TooOld") == true)
            #expect(folder.entries.isEmpty)
        }
    }

    @Test("a closure that throws nothing accepts, validators run in order, and the API's error does not replace the closure's")
    func order() async throws {
        let rig = rig(.json(["title": "no"], status: 404))
        let asked = Log<Int>()
        let request = rig.ness.httpRequest(withUrl: "x")
            .validate { _ in asked.add(1) }
            .validate { _ in
                asked.add(2)
                throw TooOld(version: "2")
            }
            .validate { _ in asked.add(3) }
        #expect(await request.dataRequest().nessError()?.underlying is TooOld)
        #expect(asked.entries == [1, 2])
        // The status of a typed result is judged first.
        let typed = await request.decodingErrors(as: APIProblem.self).dataRequest(decoding: User.self).nessError()
        #expect(typed?.underlying is APIProblem && asked.entries == [1, 2])
        let lines = rig.ness.httpRequest(withUrl: "x").validate { _ in throw TooOld(version: "3") }
            .decodingErrors(as: APIProblem.self).lines(decoding: User.self)
        let closure = await #expect(throws: NessError.self) { for try await _ in lines {} }
        #expect(closure?.underlying is APIProblem)
    }

    @Test("the verdict of a manager's validator may hold an error")
    func manager() async throws {
        struct Strict: ResponseValidator {
            func validate(for response: HTTPResponse) -> ResponseValidatorResult { .invalidBecauseOf(TooOld(version: "0")) }
        }
        let rig = Rig(onUnmatched: .reply(.text("a"))) { $0.validators = [Strict()] }
        #expect(await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()?.underlying as? TooOld == TooOld(version: "0"))
    }

    @Test("verdicts are compared by their reasons and by the descriptions of their errors")
    func verdicts() {
        let verdicts: [ResponseValidatorResult] = [
            .valid, .invalid, .invalidWithReason("a"), .invalidWithReason("b"), .invalidBecauseOf(TooOld(version: "a")),
            .invalidBecauseOf(TooOld(version: "b")), .invalidBecauseOf(Rejected(name: "a")),
        ]
        for (first, left) in verdicts.enumerated() {
            for (second, right) in verdicts.enumerated() { #expect((left == right) == (first == second)) }
        }
    }
}
