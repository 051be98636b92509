import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Requests that are dropped, and what the server sees of it.
@Suite(.inTurn) struct DropTests {
    /// A server's answer up to the moment of a drop, and whether the request is sent by a GET or as a POST with a body.
    private static let moments: [(start: String, isPost: Bool)] = [
        ("", false), ("", true), ("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 10\r\n\r\nhello", false),
        ("HTTP/1.1 200 OK\r\n\(opaque)Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true),
    ]

    @Test(
        "a drop before the response, in the middle of its body or after a redirect closes the connection, and the manager continues",
        arguments: moments, [nil, 302, 307])
    func everyMoment(moment: (start: String, isPost: Bool), redirect: Int?) async throws {
        let reached = ReceiveGates(gates: [5: TestGate()]), received = TestGate()
        try await serving({ request in
            if request.path == "/fine" { return .text(request.bodyText + "fine") }
            if request.path == "/from", let redirect { return .status(redirect, headers: ["Location": "/to"]) }
            received.open()
            return .script((moment.start.isEmpty ? [] : [.send(moment.start)]) + [.stall])
        }) { server in
            let ness = Ness { reached.install(in: &$0) }
            let builder = ness.httpRequest(moment.isPost ? .post : .get, withUrl: server.at("/from"))
            let promise = (moment.isPost ? builder.set(stringBody: "content") : builder).dataRequest()
            await received.wait()
            if !moment.start.isEmpty { await reached.gates[5]?.wait() }
            let witness = Witness(promise)
            promise.drop()
            #expect(promise.isCompleted && promise.status.text == "dropped")
            #expect(await witness.outcome() == ["dropped"])
            let error = try #require(promise.error as? NessError)
            #expect(error.kind == .dropped && error.description.contains("\(moment.isPost ? "POST" : "GET") http://127.0.0.1:"))
            #expect(await server.waitUntil { $0.busyConnections == 0 })
            let next = try await ness.httpRequest(.post, withUrl: server.at("/fine")).set(stringBody: "I am ").dataRequest().value
            #expect(next.message.text == "I am fine" && witness.ends == ["dropped"])
        }
    }

    /// Starts a server that holds its answer, has a request dropped once it is there, and expects the connection to close.
    private func drop(_ act: (DataPromise) async -> Void) async throws -> DataPromise {
        let received = TestGate()
        let server = try await TestServer.start(script: { _ in [.receiveRequest, .signal(received), .stall] })
        let promise = Ness().httpRequest(withUrl: server.url.appending(path: "held")).dataRequest()
        await received.wait()
        #expect(server.openConnections == 1)
        await act(promise)
        #expect(await server.waitUntil { $0.busyConnections == 0 })
        await server.stop()
        return promise
    }

    @Test("in a canceled task an awaited request is dropped unsent, and a promise is sent")
    func cleanUp() async throws {
        let received = TestGate(), deleted = TestGate()
        try await withServer { request in
            switch request.method {
            case .post: return .text("7")
            case .delete: deleted.open()
            default:
                received.open()
                return .script([.stall])
            }
            return .status(204)
        } _: { server, ness in
            let task = Task {
                let id = try await ness.post("uploads").dataRequest().value.message.text
                do {
                    _ = try await ness.put("uploads", id).set(body: Data(count: 10)).response()
                } catch {
                    let awaited = await #expect(throws: NessError.self) { _ = try await ness.delete("uploads", "awaited").response() }
                    #expect(awaited?.kind == .dropped)
                    ness.delete("uploads", id).dataRequest()
                    throw error
                }
            }
            await received.wait()
            task.cancel()
            await #expect(throws: NessError.self) { try await task.value }
            await deleted.wait()
            #expect(server.requests.filter { $0.method == .delete }.map(\.path) == ["/uploads/7"])
        }
    }

    @Test("a drop with a reason ends the promise with that reason")
    func reason() async throws {
        let promise = try await drop { $0.drop(becauseOf: Rejected(name: "enough")) }
        await #expect(throws: Rejected(name: "enough")) { _ = try await promise.value }
        #expect(promise.status.text == "dropped")
    }

    @Test("dropping the last child drops the request")
    func child() async throws {
        let ran = Log<String>()
        let promise = try await drop { promise in
            let child = promise.then { _ in ran.add("then") }.handle { _ in ran.add("handle") }
            child.drop()
            #expect(await child.nessError()?.kind == .dropped)
        }
        #expect(promise.status.text == "dropped")
        #expect(await promise.nessError()?.kind == .dropped)
        #expect(!ran.entries.contains("then"))
    }

    @Test("canceling the task that awaits the promise drops the request")
    func cancelledTask() async throws {
        let promise = try await drop { promise in
            let task = Task { try await promise.value }
            task.cancel()
            let error = await #expect(throws: NessError.self) { _ = try await task.value }
            #expect(error?.kind == .dropped)
        }
        #expect(promise.status.text == "dropped")
    }

    @Test("a request that is dropped before its exchange is never sent", arguments: [HTTPMethod.get, .post])
    func beforeWire(method: HTTPMethod) async throws {
        let reached = TestGate(), ended = TestGate(), errors = Log<any Error>()
        let hold = ClosureLoader { request, next in
            defer { ended.open() }
            reached.open()
            // Returns on cancellation; what follows runs in a task that was canceled.
            await TestGate().wait()
            do {
                return try await next(request)
            } catch {
                errors.add(error)
                throw error
            }
        }
        try await withServer(configure: { $0.loaders = [hold] }) { server, ness in
            let promise = ness.httpRequest(method, withUrl: "x").dataRequest()
            await reached.wait()
            #expect(promise.status.text == "idle")
            promise.drop()
            await ended.wait()
            let error = await promise.nessError()
            #expect(error?.kind == .dropped)
            #expect(error?.context.attempts == 0)
            #expect(error?.description.contains("(not sent)") == true)
            #expect(!errors.entries.isEmpty)
            #expect(server.connectionCount == 0)
        }
    }

    @Test("late events of an abandoned request reach neither its caller nor the next request's")
    func superseded() async throws {
        let sent = Tally(), go = TestGate(), late = TestGate()
        let ness = Ness {
            $0.transport = FakeTransport { _, receive in
                let number = sent.enter()
                // This exchange ignores the drop.
                if number == 0 { await Task.detached { await go.wait() }.value }
                defer { if number == 0 { late.open() } }
                try await receive(.head(statusCode: 200, headers: [:]))
                try await receive(.body(Data("\(number)".utf8)))
            }
        }
        // A POST, because a GET might still find the exchange of the old one and share it.
        let builder = ness.httpRequest(.post, withUrl: "http://x"), old = builder.dataRequest()
        let witness = Witness(old)
        await sent.wait(for: 1)
        old.drop()
        let new = builder.dataRequest()
        #expect(try await new.value.message.text == "1")
        go.open()
        await late.wait()
        await ness.reset()
        #expect(await witness.outcome() == ["dropped"])
        #expect(witness.ends == ["dropped"])
        #expect(new.result?.message.text == "1")
    }

    /// The ways to wait for two requests in one promise.
    enum Waiting: CaseIterable, Sendable {
        case all, allOfTypes, allSettled, race, any, delayed, timeout, returned, nested

        func promise(of first: DataPromise, _ second: DataPromise) -> AnyPromise {
            switch self {
            case .all: Promise.all([first, second])
            case .allOfTypes: Promise.all(first, second.then(on: .immediate) { $0.message.text })
            case .allSettled: Promise.allSettled(first, second)
            case .race: Promise.race([first, second])
            case .any: Promise.any([first, second])
            case .delayed: Promise.all(first.delayed(by: .seconds(1)), second)
            case .timeout: Promise.race(first.timeout(after: .seconds(1_000)), second)
            case .returned: Promise.resolved(1).thenContinue(on: .immediate) { _ in Promise.all([first, second]) }
            case .nested: Promise.all([Promise.race([first]), Promise.race([second])])
            }
        }
    }

    @Test(
        "dropping a promise of several requests gives the error of a dropped request there and at each request", arguments: Waiting.allCases
    )
    func severalRequests(_ waiting: Waiting) async throws {
        let ness = Ness {
            $0.baseURL = URL(string: "http://x")
            $0.transport = FakeTransport { _, _ in await TestGate().wait() }
        }
        let requests = ["first", "second"].map { ness.httpRequest(withUrl: $0).dataRequest() }
        let promise = waiting.promise(of: requests[0], requests[1])
        promise.drop()
        #expect((promise.error as? NessError)?.kind == .dropped)
        for (request, name) in zip(requests, ["first", "second"]) {
            let error = await request.nessError()
            #expect(error?.kind == .dropped && error?.request?.url.lastPathComponent == name)
        }
    }

    @Test("a request continues without its manager, and can still be dropped")
    func withoutManager() async throws {
        let answer = TestGate()
        try await serving({ request in
            await answer.wait()
            return .text("fine")
        }) { server in
            let kept = Ness().httpRequest(withUrl: server.url).dataRequest()
            let dropped = Ness().httpRequest(withUrl: server.url).dataRequest()
            await server.waitUntil { $0.requestCount == 2 }
            dropped.drop()
            #expect(await server.waitUntil { $0.openConnections == 1 })
            answer.open()
            let text = try await kept.value.message.text
            #expect(text == "fine")
            #expect(await server.waitUntil { $0.busyConnections == 0 })
        }
    }
}
