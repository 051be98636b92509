import Foundation
import NessHTTP
import NessTesting
import Testing

#if canImport(UIKit)
import UIKit
#elseif canImport(AppKit)
import AppKit
#endif

/// PMHTTP's tasks and parsed results, by their numbers in the inventory.
@Suite("PMHTTP: tasks and results", .inTurn)
struct PMHTTPResponseTests {
    @Test("a request ends in a value, in an error with the response if there is one, or in a drop", .covers("PMH-45"))
    func ends() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/good") { _ in .text("x") }
        rig.mock.on(.get, "/bad") { _ in .status(500) }
        rig.mock.on(.get, "/lost") { _ in .failure(.connectionLost) }
        rig.mock.on(.get, "/slow") { _ in
            await TestGate().wait()
            return .status(200)
        }
        func start(_ path: String) -> (DataPromise, Witness) {
            let promise = rig.ness.httpRequest(withUrl: path).validate(statusCode: 200).dataRequest()
            return (promise, Witness(promise))
        }
        for (path, end, status) in [("good", "value", nil), ("bad", "validation", 500), ("lost", "connectionLost", nil)]
            as [(String, String, Int?)]
        {
            let (promise, witness) = start(path)
            #expect(await witness.outcome() == [end])
            #expect((promise.error as? NessError)?.response?.statusCode == status)
        }
        let (promise, witness) = start("slow")
        await rig.mock.waitUntil { $0.requests.count == 4 }
        promise.drop()
        #expect(await witness.outcome() == ["dropped"])
    }

    @Test(
        "an outcome is a Result, which can be mapped, chained and recovered like a promise; a value can replace an error",
        .covers("PMH-46"))
    func outcome() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/good") { _ in .text("4") }
        rig.mock.on(.get, "/lost") { _ in .failure(.connectionLost) }
        let good = rig.ness.httpRequest(withUrl: "good").dataRequest(), lost = rig.ness.httpRequest(withUrl: "lost").dataRequest()
        #expect(try await good.then { Int($0.message.text) ?? 0 }.then { $0 * 2 }.value == 8)
        #expect(try await lost.then { $0.message.text }.recover { _ in "none" }.value == "none")
        let text = try #require(good.outcome).map(\.message.text)
        #expect(try text.get() == "4")
        #expect((try? lost.outcome?.map(\.message.text).get()) ?? "none" == "none")
        #expect(throws: Rejected()) { try text.flatMap { _ in Result<Int, any Error>.failure(Rejected()) }.get() }
    }

    @Test("a builder sends nothing by itself, however long it is kept; a request that has ended is not sent again", .covers("PMH-48"))
    func later() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let builder = rig.ness.httpRequest(.post, withUrl: "x").set(stringBody: "a")
        await rig.ness.reset()
        #expect(rig.mock.requests.isEmpty)
        let promise = builder.dataRequest()
        _ = try await promise.value
        _ = try await promise.value
        #expect(rig.mock.requests.count == 1)
    }

    @Test("over a retry, a status is running, begins anew, and ends once", .covers("PMH-49"))
    func statusOverRetry() async throws {
        let rig = Rig(advances: false), seen = Log<String>(), tally = Tally()
        let gates = [TestGate(), TestGate()]
        rig.mock.on(.get, "/x") { _ in
            let number = tally.enter()
            await gates[number].wait()
            return number == 0 ? .text("half", status: 503) : .text("done")
        }
        let control = CounterRetryControl(maxRetryCount: 1, timeIntervalBeforeTryToRetry: 5)
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest(with: control)
        await tally.wait(for: 1)
        seen.add(promise.status.text)
        gates[0].open()
        await rig.clock.waitUntil { $0.sleeps.contains(.seconds(5)) }
        #expect(!promise.isCompleted)
        rig.clock.advance(by: .seconds(5))
        await tally.wait(for: 2)
        seen.add(promise.status.text)
        gates[1].open()
        _ = try await promise.value
        seen.add(promise.status.text)
        #expect(seen.entries == ["running 0.0", "running 0.0", "completed 200"])
    }

    @Test(
        "a parser makes any type of a 2xx, also of an empty 204, for any Content-Type; its error is the request's error", .covers("PMH-53"))
    func parsers() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/:status") { request in
            let status = Int(request.pathParameters["status"] ?? "") ?? 0
            return status == 204 ? .status(204) : .text("four", status: status)
        }
        let parsed = Tally()
        func count(_ status: Int) -> Promise<Int> {
            rig.ness.request(
                TypedRequest<Int>(.get, "\(status)") { response in
                    parsed.enter()
                    if response.statusCode == 202 { throw Rejected() }
                    return response.body.count
                })
        }
        #expect(try await count(200).value == 4)
        #expect(try await count(204).value == 0)
        await #expect(throws: Rejected()) { _ = try await count(202).value }
        #expect(parsed.total == 3)
        for status in [300, 404, 500] { #expect(await count(status).nessError()?.response?.statusCode == status) }
        #expect(parsed.total == 3)
    }

    @Test("JSON is decoded by the given decoder, and mapped further; an error of the map is the request's error", .covers("PMH-54"))
    func mapping() async throws {
        let rig = Rig(onUnmatched: .reply(.json(["user_name": "Ada"])))
        struct Name: Decodable, Sendable { let userName: String }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let request = rig.ness.httpRequest(.post, withUrl: "x").set(stringBody: "body")
        #expect(try await request.dataRequest(decoding: Name.self, using: decoder).then { $0.userName.count }.value == 3)
        #expect(try await request.dataRequest(decoding: JSONValue.self).then { $0["user_name"]?.stringValue }.value == "Ada")
        let failing = request.dataRequest(decoding: JSONValue.self).then { _ -> Int in throw Rejected() }
        await #expect(throws: Rejected()) { _ = try await failing.value }
        #expect(rig.mock.received.map(\.bodyText) == ["body", "body", "body"])
    }

    @Test("an error has status, response, body and its JSON, and describes the request and the answer", .covers("PMH-60"))
    func errorCases() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/refused") { _ in .json(["error": "no cats"], status: 422) }
        rig.mock.on(.get, "/secret") { _ in .text("who?", status: 401) }
        rig.mock.on(.get, "/type") { _ in .text("<html>") }
        rig.mock.on(.get, "/empty") { _ in .status(204) }
        func error(_ path: String) async throws -> NessError {
            try #require(await rig.ness.httpRequest(withUrl: path).dataRequest(decoding: User.self).nessError())
        }
        let refused = try await error("refused")
        #expect(refused.response?.statusCode == 422)
        #expect(try refused.response?.parseJSONBody(JSONValue.self)["error"]?.stringValue == "no cats")
        #expect(refused.description.contains("422") && refused.description.contains("https://mock.test/refused"))
        #expect(refused.description.contains("no cats"))
        #expect(try await error("secret").response?.statusCode == 401)
        let type = try await error("type"), empty = try await error("empty")
        #expect(type.kind == .validation && type.response?.text == "<html>")
        #expect(empty.kind == .decoding && empty.response?.statusCode == 204 && empty.response?.body.isEmpty == true)
    }

    @Test("an unfollowed redirect is a plain request's result, and a typed request's error with status and Location", .covers("PMH-61"))
    func unfollowed() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/from") { _ in .text("moved", status: 302, headers: ["Location": "/to"]) }
        rig.mock.on(.get, "/to") { _ in .json(User(id: 1, name: "a")) }
        let request = rig.ness.httpRequest(withUrl: "from")
        #expect(try await request.dataRequest(decoding: User.self).value.id == 1)
        let message = try await request.set(redirects: .stop).dataRequest().value.message
        #expect(message.statusCode == 302 && message.text == "moved")
        let error = await request.set(redirects: .stop).dataRequest(decoding: User.self).nessError()
        #expect(error?.kind == .validation && error?.response?.statusCode == 302)
        #expect(error?.response?.headers["Location"] == "/to" && error?.response?.text == "moved")
    }

    @Test("the three forms of a date are read (RFC 9110, 5.6.7), and no other", .covers("PMH-63"))
    func dates() {
        let date = Date(timeIntervalSince1970: 784_111_777)
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            #expect(HTTPDate.parse(text) == date, "\(text)")
        }
        for text in [
            "", "now", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:00:00 GMT",
        ] {
            #expect(HTTPDate.parse(text) == nil, "\(text)")
        }
    }

    #if canImport(UIKit) || canImport(AppKit)
    /// A GIF of one pixel.
    private static let pixel = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

    @Test("a body is decoded as an image; a body that is no image is an error", .covers("PMH-62"))
    func image() async throws {
        let gif = try #require(Data(base64Encoded: Self.pixel))
        let rig = Rig()
        rig.mock.on(.get, "/good") { _ in .data(gif, contentType: "image/gif") }
        rig.mock.on(.get, "/bad") { _ in .text("no image") }
        let message = try await rig.ness.httpRequest(withUrl: "good").dataRequest().value.message
        #if canImport(UIKit)
        #expect(try message.parseBody(using: ImageDecoder(scale: 2)).scale == 2)
        #else
        #expect(try message.parseBody(using: ImageDecoder()).size.width > 0)
        #endif
        let bad = try await rig.ness.httpRequest(withUrl: "bad").dataRequest().value.message
        let error = #expect(throws: NessError.self) { try bad.parseBody(using: ImageDecoder()) }
        #expect(error?.underlying is ImageDecodingError)
    }
    #endif
}
