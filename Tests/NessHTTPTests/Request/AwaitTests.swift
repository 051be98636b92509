import Foundation
import NessHTTP
import NessTesting
import Testing

/// The forms of requests that are awaited, and typed results without JSON.
@Suite(.inTurn) struct AwaitTests {
    private static let user = #"{"id":1,"name":"a"}"#

    private func rig(_ reply: Reply, _ configure: (inout Ness.Configuration) -> Void = { _ in }) -> Rig {
        let rig = Rig(configure)
        rig.mock.on(nil, "/x") { _ in reply }
        return rig
    }

    @Test("an awaited response is a result whatever its status is, unless a validator refuses it")
    func response() async throws {
        let request = rig(.text("no", status: 404)).ness.httpRequest(withUrl: "x")
        #expect(try await request.response().statusCode == 404)
        let error = await #expect(throws: NessError.self) { try await request.validate().response() }
        #expect(error?.kind == .validation && error?.response?.text == "no")
    }

    @Test("an awaited value is decoded like a promised one, with its type given or inferred")
    func decoded() async throws {
        let rig = rig(.data(Data(Self.user.utf8), contentType: "application/json"))
        let request = rig.ness.httpRequest(withUrl: "x")
        #expect(try await request.decoded(as: User.self) == User(id: 1, name: "a"))
        let inferred: User = try await request.decoded()
        #expect(inferred.id == 1)
        #expect(rig.mock.requests.allSatisfy { $0.headers["Accept"] == "application/json" })
        let page = try await request.decodedResponse(as: User.self)
        #expect(page.value.id == 1 && page.response.headers["Content-Type"] == "application/json")
    }

    @Test("text and data are the body itself, and need a 2xx")
    func raw() async throws {
        let latin = Reply.data(Data([0xE9]), contentType: "text/plain; charset=iso-8859-1")
        let request = rig(latin).ness.httpRequest(withUrl: "x")
        #expect(try await request.text() == "é")
        #expect(try await request.data() == Data([0xE9]))
        let refused = rig(.text("no", status: 500)).ness.httpRequest(withUrl: "x")
        #expect(await #expect(throws: NessError.self) { _ = try await refused.text() }?.kind == .validation)
        #expect(await #expect(throws: NessError.self) { _ = try await refused.data() }?.response?.statusCode == 500)
    }

    private struct GetText: ConnectionSpec {
        typealias ResponseModel = String
        let url = "x"
    }

    @Test(
        "String and Data are the body itself in every typed form, whatever the Content-Type is",
        arguments: ["text/html", "application/json"])
    func stringsAndData(type: String) async throws {
        let rig = rig(.data(Data("\"a\"".utf8), contentType: type)) { $0.decodingErrors = APIProblem.self }
        let request = rig.ness.httpRequest(withUrl: "x")
        #expect(try await request.dataRequest(decoding: String.self).value == "\"a\"")
        #expect(try await request.dataRequest(decoding: Data.self).value == Data("\"a\"".utf8))
        #expect(try await rig.ness.request(TypedRequest<String>.get("x")).value == "\"a\"")
        #expect(try await rig.ness.request(TypedRequest<Data>.get("x")).value == Data("\"a\"".utf8))
        #expect(try await rig.ness.request(GetText()).value == "\"a\"")
        #expect(rig.mock.requests.prefix(4).allSatisfy { !$0.headers.contains("Accept") })
        // The method that says JSON in its name decodes JSON.
        #expect(try await request.response().parseJSONBody(String.self) == "a")
    }

    @Test("an empty body is an empty String, and nil for an Optional")
    func empty() async throws {
        let request = rig(.status(204)).ness.httpRequest(withUrl: "x")
        #expect(try await request.decoded(as: String.self) == "")
        #expect(try await request.decoded(as: String?.self) == nil)
        #expect(try await request.decoded(as: Data?.self) == nil)
        #expect(try await request.data().isEmpty)
        let full = rig(.text("a")).ness.httpRequest(withUrl: "x")
        #expect(try await full.decoded(as: String?.self) == "a")
    }

    @Test("the API's own error is decoded for a text, too")
    func apiError() async throws {
        let problem = rig(.json(["title": "no cat"], status: 404)) { $0.decodingErrors = APIProblem.self }
        let error = await #expect(throws: NessError.self) { _ = try await problem.ness.httpRequest(withUrl: "x").text() }
        #expect((error?.underlying as? APIProblem)?.title == "no cat")
    }

    // MARK: decoders

    private struct CSVDecoder: ResponseDecoder {
        struct Bad: Error {}
        func decode(from data: Data) throws -> [String] {
            guard !data.isEmpty else { throw Bad() }
            return String(decoding: data, as: UTF8.self).split(separator: ",").map(String.init)
        }
    }

    @Test("a decoder of the caller takes the place of JSON, and its error is the cause")
    func decoder() async throws {
        let rig = rig(.text("a,b")) { $0.decodingErrors = APIProblem.self }
        let request = rig.ness.httpRequest(withUrl: "x")
        #expect(try await request.decoded(by: CSVDecoder()) == ["a", "b"])
        let promise = request.dataRequest(decodedBy: CSVDecoder())
        #expect(try await promise.value == ["a", "b"])
        #expect(promise.response?.statusCode == 200)
        #expect(rig.mock.requests.allSatisfy { !$0.headers.contains("Accept") })
        let empty = self.rig(.status(200)).ness.httpRequest(withUrl: "x").dataRequest(decodedBy: CSVDecoder())
        let error = await empty.nessError()
        #expect(error?.kind == .decoding && error?.underlying is CSVDecoder.Bad)
        let refused = self.rig(.text("a,b", status: 500)).ness.httpRequest(withUrl: "x").dataRequest(decodedBy: CSVDecoder())
        #expect(await refused.nessError()?.kind == .validation)
    }

    // MARK: values with their responses

    @Test("a value can be had with its response from every typed promise, and a drop still travels up")
    func withResponse() async throws {
        let rig = rig(.data(Data(Self.user.utf8), contentType: "application/json"))
        let pair = try await rig.ness.request(TypedRequest<User>.get("x")).withResponse().value
        #expect(pair.value.id == 1 && pair.response.statusCode == 200)
        let refused = self.rig(.status(404)).ness.httpRequest(withUrl: "x").dataRequest(decoding: User.self).withResponse()
        #expect(await refused.nessError()?.kind == .validation)
        let never = Ness { $0.transport = FakeTransport { _, _ in await TestGate().wait() } }
        let promise = never.httpRequest(withUrl: "http://x").dataRequest(decoding: User.self)
        let both = promise.withResponse()
        both.drop()
        #expect(await promise.nessError()?.kind == .dropped)
        #expect(await both.nessError()?.kind == .dropped)
    }

    // MARK: cancellation

    @Test("cancelling the task of each awaited form drops the request on the wire", arguments: 0..<6)
    func cancellation(form: Int) async throws {
        try await withServer({ _ in .script([.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na"), .stall]) }) { server, ness in
            let request = ness.httpRequest(withUrl: "x")
            let task = Task {
                switch form {
                case 0: _ = try await request.response()
                case 1: _ = try await request.decoded(as: User.self)
                case 2: _ = try await request.decodedResponse(as: User.self)
                case 3: _ = try await request.text()
                case 4: _ = try await request.data()
                default: _ = try await request.decoded(by: CSVDecoder())
                }
            }
            #expect(await server.waitUntil { $0.busyConnections == 1 })
            task.cancel()
            let error = await #expect(throws: NessError.self) { try await task.value }
            #expect(error?.kind == .dropped)
            #expect(await server.waitUntil { $0.openConnections == 0 })
        }
    }
}
