import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// One vocabulary of errors, for the pipeline, loaders, observers and callers alike.
@Suite(.inTurn) struct ErrorKindTests {
    @Test("every kind makes the case of its name, and is recognized from it", arguments: NessError.Kind.allCases)
    func kinds(kind: NessError.Kind) {
        let error = NessError(kind, NessError.Context(request: nil, reason: "why"))
        #expect(error.kind == kind)
        #expect("\(error)".hasSuffix("why"))
    }

    @Test("an error tells if it is transient, and if the server may have acted")
    func judgement() {
        let transient = NessError.Kind.allCases.filter { NessError($0, NessError.Context(request: nil, reason: "")).isTransient }
        #expect(
            transient == [.offline, .cannotConnect, .timedOut, .connectionLost, .truncated, .malformedResponse, .circuitOpen])
        let unseen = NessError.Kind.allCases.filter { !NessError($0, NessError.Context(request: nil, reason: "")).mayHaveReachedServer }
        #expect(unseen == [.invalidRequest, .offline, .cannotConnect, .tls, .circuitOpen])
    }

    @Test(
        "a loader at any place sees the library's error, never the transport's error", arguments: LoaderPlace.allCases,
        TransportError.Kind.allCases)
    func loaders(place: LoaderPlace, kind: TransportError.Kind) async throws {
        let seen = Log<NessError.Kind?>()
        let rig = Rig {
            $0.insert(
                .loader { request, next in
                    do {
                        return try await next(request)
                    } catch {
                        seen.add((error as? NessError)?.kind)
                        throw error
                    }
                }, at: place)
        }
        rig.mock.on(.get, "/x", replies: [.failure(TransportError(kind, "why"))])
        let error = await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()
        #expect(seen.entries == [NessError.Kind(kind)])
        #expect(error?.kind == NessError.Kind(kind))
    }

    @Test("a loader's cancellation is a drop in error, status and text, and the text names no caller")
    func cancellation() async throws {
        let held = TestGate()
        let rig = Rig {
            $0.loaders = [
                .loader { request, _ in
                    if request.url.path == "/held" { await held.wait() }
                    throw CancellationError()
                }
            ]
        }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        let error = await promise.nessError()
        #expect(error?.kind == .dropped)
        #expect(promise.status.text == "dropped")
        #expect(error?.description.contains("by the caller") == false)
        let dropped = rig.ness.httpRequest(withUrl: "held").dataRequest()
        dropped.drop()
        held.open()
        #expect(await dropped.nessError()?.description.contains("by the caller") == true)
    }

    @Test("the error of a timeout holds the part of the response that had arrived", arguments: [true, false])
    func partOfTimeout(byDeadline: Bool) async throws {
        let clock = ManualClock(), arrived = ReceiveGates(gates: [4: TestGate()])
        let server = try await TestServer.start(script: { _ in
            [.receiveRequest, .send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 10\r\nX-A: b\r\n\r\nhalf"), .stall]
        })
        let ness = Ness {
            $0.baseURL = server.url
            $0.clock = clock
            arrived.install(in: &$0)
        }
        let request = ness.httpRequest(withUrl: "x")
        let promise = (byDeadline ? request.set(deadline: .seconds(20)) : request.set(timeout: .seconds(20))).dataRequest()
        await arrived.gates[4]?.wait()
        await clock.waitForSleepers(byDeadline ? 2 : 1)
        while !promise.isCompleted {
            clock.advance(by: .seconds(10))
            await Task.yield()
        }
        let error = await promise.nessError()
        #expect(error?.kind == .timedOut)
        #expect(error?.response?.statusCode == 200)
        #expect(error?.response?.headers["x-a"] == "b")
        #expect(error?.response?.text == "half")
        await server.stop()
    }

    @Test("requests are compared by value, not by identity")
    func comparable() throws {
        let one = HTTPRequest(.put, url: try url("https://a/b"), headers: ["X": "1"], body: HTTPBody(Data([1])))
        var other = HTTPRequest(.put, url: try url("https://a/b"), headers: ["x": "1"], body: HTTPBody(Data([1])))
        #expect(one == other && one.id != other.id)
        other.timeout = .seconds(1)
        #expect(one != other)
    }

    @Test("an error has its cause, its status if there was one, and a description, and differs from a drop")
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

    @Test("an error has status, response, body and its JSON, and describes the request and the response")
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

    @Test("an error names its kind, and holds its cause")
    func causes() async throws {
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

    @Test("an error with the code -999 from another domain is not a drop") func aForeignError() async throws {
        let foreign = NSError(domain: "foreign", code: -999)
        let control = AskedControl(CounterRetryControl(maxRetryCount: 1))
        let rig = Rig { $0.loaders = [.loader { _, _ in throw foreign }] }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest(with: control)
        await #expect(throws: NSError.self) { _ = try await promise.value }
        #expect(promise.status.text == "error")
        #expect(control.asked.entries.count == 2)
    }

    @Test("a bad URL, an encoder's error and a hook's error each keep their cause")
    func causesOfEachSource() async throws {
        struct Encoder: HTTPBodyEncoder {
            func encode(_ value: Int) throws -> Data { throw Rejected(name: "encoder") }
        }
        let hook = ClosureLoader { _, _ in throw Rejected(name: "hook") }
        try await withServer { server, ness in
            let url = await ness.httpRequest(withUrl: "http://[broken").dataRequest().nessError()
            #expect(url?.kind == .invalidRequest)
            #expect(url?.context.underlying is InvalidURL)
            #expect(url?.description.contains("http://[broken") == true)
            let encoder = await ness.httpRequest(.post, withUrl: "x").set(body: 1, with: Encoder()).dataRequest().nessError()
            #expect(encoder?.context.underlying as? Rejected == Rejected(name: "encoder"))
            #expect(encoder?.context.reason.contains("encoder") == true)
            let hooked = Ness { $0.loaders = [hook] }.httpRequest(withUrl: server.url).dataRequest()
            await #expect(throws: Rejected(name: "hook")) { _ = try await hooked.value }
            #expect(server.connectionCount == 0)
        }
    }
}
