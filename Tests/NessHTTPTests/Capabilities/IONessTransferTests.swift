import Foundation
import NessHTTP
import NessTesting
import Testing

/// iONess's requests and their results, by their numbers in the inventory.
@Suite("iONess: transfers and results", .inTurn)
struct IONessTransferTests {
    @Test(
        "data, upload and download requests begin when they are made, each with its own retries, even if nobody keeps them",
        .covers("ION-15"))
    func unkept() async throws {
        try await withFolder { folder in
            let source = folder.appendingPathComponent("source"), target = folder.appendingPathComponent("target")
            try Data("file".utf8).write(to: source)
            let seen = Lock<Set<String>>([]), control = CounterRetryControl(maxRetryCount: 1)
            try await withServer { request in
                .text(request.path, status: seen.withLock { $0.insert(request.path).inserted } ? 503 : 200)
            } _: { server, ness in
                ness.httpRequest(withUrl: "data").dataRequest(with: control)
                #expect(await server.waitUntil { $0.requestCount == 2 })
                ness.httpRequest(.put, withUrl: "upload").uploadRequest(forFileLocation: source, with: control)
                #expect(await server.waitUntil { $0.requestCount == 4 })
                let saved = TestGate()
                ness.httpRequest(withUrl: "download").downloadRequest(forSavedLocation: target, with: control).then { _ in saved.open() }
                await saved.wait()
                #expect(server.requests.map(\.target) == ["/data", "/data", "/upload", "/upload", "/download", "/download"])
                #expect(server.requests.map(\.bodyText) == ["", "", "file", "file", "", ""])
            }
            #expect(try String(contentsOf: target, encoding: .utf8) == "/download")
        }
    }

    @Test(
        "without a validator every status is a result; the usual validator can be added", .covers("ION-18"),
        arguments: [200, 302, 404, 500])
    func unvalidated(status: Int) async throws {
        let rig = Rig(onUnmatched: .reply(.text("page", status: status)))
        let message = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message
        #expect(message.statusCode == status && message.text == "page")
        let validated = rig.ness.httpRequest(withUrl: "x").validate(using: StatusCodeValidator.success).dataRequest()
        if status == 200 {
            _ = try await validated.value
        } else {
            #expect(await validated.nessError()?.kind == .validation)
        }
    }

    @Test("validators check a status, a range, required header fields and forbidden ones", .covers("ION-21"))
    func validators() async throws {
        let rig = Rig(onUnmatched: .reply(.text("x", status: 204, headers: ["X-A": "1", "X-B": "2"])))
        let request = rig.ness.httpRequest(withUrl: "x")
        let accepting = [
            request.validate(statusCode: 204), request.validate(statusCodes: 200..<205), request.validate(shouldHaveHeaders: ["X-A": "1"]),
            request.validate(.shouldMatch, ["X-B": "2"]), request.validate(.shouldNotContains, ["X-B": "1"]),
        ]
        for builder in accepting { _ = try await builder.dataRequest().value }
        let refusing = [
            request.validate(statusCode: 200), request.validate(statusCodes: 200..<204), request.validate(shouldHaveHeaders: ["X-A": "2"]),
            request.validate(.shouldMatch, ["X-B": "1"]), request.validate(.shouldNotContains, ["X-B": "2"]),
        ]
        for builder in refusing { #expect(await builder.dataRequest().nessError()?.kind == .validation) }
    }

    @Test(
        "a validator's refusal is first offered to the control, and then fails data, upload and download with the reason",
        .covers("ION-23"),
        arguments: 0..<3)
    func refusals(kind: Int) async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file"), control = AskedControl(CounterRetryControl(maxRetryCount: 1))
            try Data("file".utf8).write(to: file)
            let rig = Rig(onUnmatched: .reply(.text("none", headers: ["X-State": "bad"])))
            let builder = rig.ness.httpRequest(kind == 1 ? .put : .get, withUrl: "x").validate(shouldHaveHeaders: ["X-State": "good"])
            let error =
                switch kind {
                case 0: await builder.dataRequest(with: control).nessError()
                case 1: await builder.uploadRequest(forFileLocation: file, with: control).nessError()
                default: await builder.downloadRequest(forSavedLocation: file, with: control).nessError()
                }
            #expect(error?.kind == .validation)
            #expect(error?.context.reason == "the header X-State: good has another value")
            #expect(error?.context.attempts == 2 && rig.mock.requests.count == 2)
            #expect(control.asked.entries.map(\.number) == [1, 2])
            #expect(try String(contentsOf: file, encoding: .utf8) == "file")
        }
    }

    @Test(
        "data and upload requests end in response and bytes; a failure is an error, with the response if there was one", .covers("ION-37"))
    func results() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file")
            try Data("file".utf8).write(to: file)
            let rig = Rig()
            rig.mock.on(nil, "/x") { .text("got \($0.bodyText)", status: 201) }
            rig.mock.on(nil, "/lost") { _ in .failure(.connectionLost) }
            let data = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
            #expect(data.message.statusCode == 201 && data.responseData == Data("got ".utf8))
            let upload: DataResult = try await rig.ness.httpRequest(.post, withUrl: "x").uploadRequest(forFileLocation: file).value
            #expect(upload.message.statusCode == 201 && upload.responseData == Data("got file".utf8))
            let lost = await rig.ness.httpRequest(withUrl: "lost").dataRequest().nessError()
            #expect(lost?.kind == .connectionLost && lost?.response == nil)
            let refused = rig.ness.httpRequest(.post, withUrl: "x").validate(statusCode: 200).uploadRequest(forFileLocation: file)
            #expect(await refused.nessError()?.response?.text == "got file")
        }
    }

    @Test("a message has URL, status, header fields and a body, which may be empty", .covers("ION-38"))
    func message() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/full") { _ in .text("body", status: 203, headers: ["X-A": "1"]) }
        rig.mock.on(.get, "/empty") { _ in .status(204) }
        let full = try await rig.ness.httpRequest(withUrl: "full?a=1").dataRequest().value.message
        #expect(full.url.absoluteString == "https://mock.test/full?a=1" && full.statusCode == 203)
        #expect(full.headers["x-a"] == "1" && full.body == Data("body".utf8))
        let empty = try await rig.ness.httpRequest(withUrl: "empty").dataRequest().value.message
        #expect(empty.statusCode == 204 && empty.body.isEmpty)
    }

    @Test("a download ends in response and file; without a file it is an error", .covers("ION-39"))
    func downloadResult() async throws {
        try await withFolder { folder in
            let rig = Rig()
            rig.mock.on(.get, "/file") { _ in .text("content", headers: ["X-A": "1"]) }
            rig.mock.on(.get, "/none") { _ in .status(204) }
            let target = folder.appendingPathComponent("a")
            let result = try await rig.ness.httpRequest(withUrl: "file").downloadRequest(forSavedLocation: target).value
            #expect(result.dataLocalURL == target && result.message.headers["X-A"] == "1")
            #expect(try Data(contentsOf: result.dataLocalURL) == Data("content".utf8))
            let other = folder.appendingPathComponent("b")
            let error = await rig.ness.httpRequest(withUrl: "none").downloadRequest(forSavedLocation: other).nessError()
            #expect(error?.kind == .validation && error?.response?.statusCode == 204)
            #expect(folder.entries == ["a"])
        }
    }

    private final class Animal: Decodable, Sendable {
        let name: String
    }

    private struct Word: ResponseDecoder {
        func decode(from data: Data) throws -> String { String(decoding: data, as: UTF8.self).uppercased() }
    }

    @Test(
        "a response is decoded as a value, a class, a list, any JSON or a custom decoder's text; one wrong element fails a list",
        .covers("ION-44"))
    func decoders() async throws {
        let rig = Rig()
        func answer(_ path: String, _ text: String) { rig.mock.on(.get, path) { _ in .data(Data(text.utf8), contentType: "text/json") } }
        answer("/one", #"{"id":1,"name":"a"}"#)
        answer("/list", #"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#)
        answer("/mixed", #"[{"id":1,"name":"a"},7]"#)
        func get(_ path: String) -> RequestBuilder { rig.ness.httpRequest(withUrl: path) }
        #expect(try await get("one").dataRequest(decoding: User.self).value == User(id: 1, name: "a"))
        #expect(try await get("one").dataRequest(decoding: Animal.self).value.name == "a")
        #expect(try await get("one").dataRequest(decoding: JSONValue.self).value["name"]?.stringValue == "a")
        #expect(try await get("list").dataRequest(decoding: [User].self).value.map(\.id) == [1, 2])
        #expect(try await get("mixed").dataRequest(decoding: JSONValue.self).value.arrayValue?.count == 2)
        #expect(await get("mixed").dataRequest(decoding: [User].self).nessError()?.kind == .decoding)
        #expect(try await get("mixed").dataRequest().value.message.parseBody(using: Word()).hasPrefix(#"[{"ID":1"#))
    }

    @Test(
        "a message can be read as text, JSON, a value or a list, of an inferred or a named type; an empty body is a typed error",
        .covers("ION-45"))
    func helpers() throws {
        func message(_ text: String) throws -> HTTPResponse {
            HTTPResponse(statusCode: 200, body: Data(text.utf8), request: HTTPRequest(url: try url("https://mock.test")))
        }
        let user = try message(#"{"id":1,"name":"ä"}"#), list = try message(#"[{"id":1,"name":"ä"}]"#)
        #expect(user.text == #"{"id":1,"name":"ä"}"#)
        let inferred: User = try user.parseJSONBody()
        #expect(inferred == User(id: 1, name: "ä"))
        #expect(try user.parseJSONBody(User.self) == inferred)
        let users: [User] = try list.parseJSONBody()
        #expect(users == [inferred])
        #expect(try user.parseJSONBody(JSONValue.self).objectValue?.count == 2 && list.parseJSONBody(JSONValue.self).arrayValue?.count == 1)
        let empty = try message("")
        #expect(empty.text.isEmpty)
        let error = #expect(throws: NessError.self) { try empty.parseJSONBody(User.self) }
        #expect(error?.kind == .decoding && error?.context.reason.contains("the body is empty") == true)
    }

    @Test("an error has its cause, its status if there was one, and a text, and differs from a drop", .covers("ION-47"))
    func errors() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/lost") { _ in .failure(TransportError(.connectionLost, "gone", underlying: Rejected(name: "cause"))) }
        rig.mock.on(.get, "/refused") { _ in .status(418) }
        let lost = try #require(await rig.ness.httpRequest(withUrl: "lost").dataRequest().nessError())
        #expect(lost.underlying as? Rejected == Rejected(name: "cause") && lost.response == nil)
        #expect(lost.localizedDescription.contains("connection lost: gone"))
        let refused = try #require(await rig.ness.httpRequest(withUrl: "refused").validate(statusCode: 200).dataRequest().nessError())
        #expect(refused.response?.statusCode == 418 && refused.localizedDescription.contains("418"))
        rig.mock.on(.get, "/never") { _ in
            await TestGate().wait()
            return .status(200)
        }
        let promise = rig.ness.httpRequest(withUrl: "never").dataRequest()
        promise.drop()
        guard case .dropped? = await promise.nessError() else { return #expect(Bool(false), "not dropped") }
        for error in [lost, refused] { if case .dropped = error { Issue.record("\(error)") } }
    }

    @Test("several requests of different kinds are awaited together, and their results form one tuple", .covers("ION-48"))
    func tuple() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        rig.mock.on(.get, "/user") { _ in .json(User(id: 1, name: "a")) }
        let user = rig.ness.httpRequest(withUrl: "user").dataRequest(decoding: User.self)
        let plain = rig.ness.httpRequest(withUrl: "x").dataRequest(), other = rig.ness.httpRequest(.put, withUrl: "x").dataRequest()
        let pair = try await Promise.all(user, plain).value
        #expect(pair.0.id == 1 && pair.1.message.statusCode == 200)
        let triple = try await Promise.all(other, user, plain).then { "\($0.0.message.request.method) \($0.1.name)" }.value
        #expect(triple == "PUT a")
    }
}
