import Foundation
import NessHTTP
import NessTesting
import Testing

/// FlexNetworking's capabilities by their numbers in the inventory, where no other suite tests them.
@Suite(.inTurn) struct FlexNetworkingCapabilityTests {
    // MARK: requests

    @Test("FLX-02: a request has a URL, a method, header fields and a body; a hook may complete its URL")
    func parts() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.baseURL = nil
            $0.insert(
                .modifyRequest { if $0.url.scheme == nil { $0.url = try url("https://mock.test/\($0.url.relativeString)") } },
                .before(.environment))
        }
        _ = try await rig.ness.httpRequest(.put, withUrl: "users/1").set(headers: ["X-A": "1"]).set(stringBody: "b").dataRequest().value
        let request = try #require(rig.mock.received.first)
        #expect(request.method == .put && request.url?.absoluteString == "https://mock.test/users/1")
        #expect(request.headers["X-A"] == "1" && request.bodyText == "b")
        let bare = Ness { $0.transport = rig.mock }
        #expect(await bare.httpRequest(withUrl: "users/1").dataRequest().nessError()?.kind == .invalidRequest)
        #expect(rig.mock.requests.count == 1)
    }

    @Test("FLX-06: the same fields are the query of a GET and the form of other methods; an explicit header field wins")
    func queryOrForm() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))), fields: URLQuery = ["a": "1 2", "b": true]
        let post = rig.ness.httpRequest(.post, withUrl: "x").set(form: fields)
        _ = try await rig.ness.httpRequest(.get, withUrl: "x").set(urlParameters: fields).dataRequest().value
        _ = try await post.dataRequest().value
        _ = try await post.set(headers: ["content-type": "application/x-own"]).dataRequest().value
        let received = rig.mock.received, text = "a=1%202&b=true"
        #expect(received.map(\.target) == ["/x?\(text)", "/x", "/x"])
        #expect(received.map(\.bodyText) == ["", text, text])
        #expect(received.map { $0.headers["Content-Type"] } == [nil, "application/x-www-form-urlencoded", "application/x-own"])
    }

    @Test("FLX-07: a body is a form, bytes with a type, an encoded value or JSON; a GET has none")
    func bodies() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let bodies: [HTTPBody] = [
            .form(["a": "1"]), HTTPBody(Data("<a/>".utf8), headers: ["Content-Type": "text/xml"]),
            try .json(encoding: User(id: 1, name: "a")),
            try .json(["k": nil]),
        ]
        for body in bodies { _ = try await rig.ness.httpRequest(.patch, withUrl: "x").set(body: body).dataRequest().value }
        #expect(rig.mock.received.map(\.bodyText) == ["a=1", "<a/>", #"{"id":1,"name":"a"}"#, #"{"k":null}"#])
        let types = ["application/x-www-form-urlencoded", "text/xml", "application/json", "application/json"]
        #expect(rig.mock.received.map { $0.headers["Content-Type"] } == types)
        for body in bodies {
            #expect(await rig.ness.httpRequest(withUrl: "x").set(body: body).dataRequest().nessError()?.kind == .invalidRequest)
        }
        // The request fails with the encoder's error as its cause.
        let error = await rig.ness.httpRequest(.post, withUrl: "x").set(jsonEncodable: [Double.nan]).dataRequest().nessError()
        #expect(error?.kind == .invalidRequest && error?.underlying is EncodingError)
        #expect(rig.mock.requests.count == bodies.count)
    }

    // MARK: answers

    @Test("FLX-04: a success or a failure arrives once, and on the main thread if asked for")
    func onMain() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.text("a"), .failure(.offline)])
        for expected in ["a", "offline"] {
            let heard = Log<String>()
            let promise = rig.ness.httpRequest(withUrl: "x").dataRequest().finally(on: .main) { result, error in
                heard.add(result?.message.text ?? (error as? NessError)?.kind.rawValue ?? "nothing")
                #expect(isOnMainQueue())
            }
            _ = try? await promise.value
            #expect(heard.entries == [expected])
        }
    }

    @Test("FLX-05: a request is a handle with progress and a drop, also a typed one; an error takes precedence over a response")
    func handles() async throws {
        let rig = Rig(), reached = Tally(), never = TestGate()
        rig.mock.on(.post, "/held") { _ in
            reached.enter()
            await never.wait()
            return .json(User(id: 1, name: "late"))
        }
        rig.mock.on(.post, "/x", replies: [.text("12345")])
        let builder = rig.ness.httpRequest(.post, withUrl: "held").set(stringBody: "abc")
        let data = builder.dataRequest(), typed = builder.dataRequest(decoding: User.self)
        await reached.wait(for: 2)
        #expect(data.progress.completedBytes == 3)
        data.drop()
        typed.drop()
        #expect(await data.nessError()?.kind == .dropped)
        #expect(await typed.nessError()?.kind == .dropped)
        let whole = rig.ness.httpRequest(.post, withUrl: "x").set(stringBody: "abc").dataRequest()
        _ = try await whole.value
        #expect(whole.progress == TransferProgress(completedBytes: 8, totalBytes: 8))
        let broken = Ness {
            $0.transport = FakeTransport { _, receive in
                try await receive(.head(statusCode: 200, headers: [:]))
                try await receive(.body(Data("half".utf8)))
                throw TransportError.connectionLost
            }
        }
        #expect(await broken.httpRequest(withUrl: "http://x").dataRequest().nessError()?.kind == .connectionLost)
    }

    @Test("FLX-10: a response has a status, its bytes, its header fields as received, its text and its request")
    func response() async throws {
        let rig = Rig()
        rig.mock.on(.put, "/x", replies: [.text("grün", status: 203, headers: ["X-MiXed": "V"]), .status(204)])
        let builder = rig.ness.httpRequest(.put, withUrl: "x").set(headers: ["X-Asked": "1"])
        let message = try await builder.dataRequest().value.message
        #expect(message.statusCode == 203 && message.body == Data("grün".utf8) && message.text == "grün")
        #expect(message.headers["x-mixed"] == "V" && message.headers.contains { $0.name == "X-MiXed" })
        #expect(message.request.method == .put && message.request.headers["X-Asked"] == "1")
        #expect(message.request.url.absoluteString == "https://mock.test/x")
        let empty = try await builder.dataRequest().value.message
        #expect(empty.statusCode == 204 && empty.body.isEmpty && empty.text == "")
    }

    @Test("FLX-12: an error names its kind, and holds its cause")
    func errors() async throws {
        let reached = TestGate(), rig = Rig { $0.loaders = [.modifyRequest { if $0.url.path == "/hook" { throw Rejected() } }] }
        let offline = TransportError(.offline, "no route", underlying: Rejected(name: "cause"))
        let other = TransportError(.connectionLost, "broken", underlying: Rejected(name: "cause"))
        rig.mock.on(.get, "/x", replies: [.failure(offline), .failure(.timedOut), .failure(other), .status(204)])
        rig.mock.on(.get, "/held") { _ in
            reached.open()
            await TestGate().wait()
            return .status(200)
        }
        let builder = rig.ness.httpRequest(withUrl: "x")
        for (kind, cause) in [("offline", "cause"), ("timedOut", nil), ("connectionLost", "cause")] {
            let error = await builder.dataRequest().nessError()
            #expect(error?.kind.rawValue == kind)
            #expect((error?.underlying as? Rejected)?.name == cause)
        }
        let empty = await builder.dataRequest(decoding: User.self).nessError()
        #expect(empty?.kind == .decoding && empty?.response?.statusCode == 204)
        let held = rig.ness.httpRequest(withUrl: "held").dataRequest()
        await reached.wait()
        held.drop()
        #expect(await held.nessError()?.kind == .dropped)
        let invalid = await rig.ness.httpRequest(withUrl: "http://[no").dataRequest().nessError()
        #expect(invalid?.kind == .invalidRequest && invalid?.description.contains("http://[no") == true)
        await #expect(throws: Rejected()) { _ = try await rig.ness.httpRequest(withUrl: "hook").dataRequest().value }
    }

    @Test("FLX-28: an outcome is a Result with the response or the error")
    func outcome() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.text("fine"), .failure(.offline)])
        let good = rig.ness.httpRequest(withUrl: "x").dataRequest()
        _ = try await good.value
        let value: Result<DataResult, any Error> = try #require(good.outcome)
        #expect("\(value)".contains("GET https://mock.test/x \u{2192} 200 \"fine\""))
        let bad = rig.ness.httpRequest(withUrl: "x").dataRequest()
        _ = try? await bad.value
        let failure = try #require(bad.outcome)
        #expect("\(failure)".contains("GET https://mock.test/x: offline: there is no network"))
    }

    // MARK: hooks

    @Test("FLX-17: hooks run off the main thread, may suspend, and keep their state as long as the manager lives")
    @MainActor func hooks() async throws {
        final class Numbering: HTTPLoader {
            let calls = Tally(), go = TestGate(), wereOnMain = Log<Bool>()
            func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
                var request = request
                wereOnMain.add(isOnMainQueue())
                request.headers["X-Call"] = "\(calls.enter())"
                await go.wait()
                return try await next(request)
            }
        }
        let hook = Numbering(), rig = Rig(onUnmatched: .reply(.status(200))) { $0.loaders = [hook] }
        let first = rig.ness.httpRequest(withUrl: "a").dataRequest()
        #expect(isOnMainQueue())
        await hook.calls.wait(for: 1)
        #expect(!first.isCompleted && rig.mock.requests.isEmpty)
        hook.go.open()
        _ = try await first.value
        _ = try await rig.ness.httpRequest(withUrl: "b").dataRequest().value
        #expect(rig.mock.requests.map { $0.headers["X-Call"] } == ["0", "1"])
        #expect(hook.wereOnMain.entries == [false, false])
    }

    @Test("FLX-19: a manager with the same configuration but no loaders sends without hooks")
    func withoutHooks() async throws {
        let rig = Rig(onUnmatched: .reply(.text("x"))) { $0.loaders = [.modifyRequest { $0.headers["X-Hook"] = "1" }] }
        let bare = Ness {
            $0 = rig.ness.configuration
            $0.loaders = []
        }
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        _ = try await bare.httpRequest(withUrl: "x").dataRequest().value
        let text = try await onThread { Result { try bare.httpRequest(withUrl: "x").dataRequest().wait(timeout: .seconds(60)) } }.get()
        #expect(text.message.text == "x")
        #expect(rig.mock.requests.map { $0.headers["X-Hook"] } == ["1", nil, nil])
        #expect(rig.mock.requests.allSatisfy { $0.url.absoluteString == "https://mock.test/x" })
    }
}
