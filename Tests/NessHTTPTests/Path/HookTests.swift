import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn(.withoutSockets)) struct HookTests {
    @Test("hooks run in order, each on the result of the one before, in every calling style")
    func requestHooks() async throws {
        let rig = Rig {
            $0.loaders = [
                .modifyRequest { $0.headers["A"] = "1" },
                .modifyRequest { $0.headers["B"] = "\($0.headers["A"] ?? "")2" },
                .modifyRequest { $0.url = $0.url.appending(path: "more") },
            ]
        }
        rig.mock.on(.get, "/x/more") { _ in .json(User(id: 1, name: "a")) }
        let builder = rig.ness.httpRequest(withUrl: "x")
        _ = try await builder.dataRequest().value
        _ = try await builder.dataRequest(decoding: User.self).value
        _ = try await rig.ness.request(TypedRequest<User>.get("x")).value
        _ = try await onThread { Result { try builder.dataRequest().wait(timeout: .seconds(60)) } }.get()
        #expect(rig.mock.requests.count == 4)
        #expect(rig.mock.requests.allSatisfy { $0.headers["A"] == "1" && $0.headers["B"] == "12" })
    }

    @Test("an error that a hook throws is the request's error, and nothing is sent")
    func stopping() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.loaders = [.modifyRequest { if $0.url.path == "/no" { throw Rejected(name: "out") } }]
            $0.insert(.modifyResponse { if $0.url.path == "/back" { throw Rejected(name: "back") } }, at: .call)
        }
        await #expect(throws: Rejected(name: "out")) { _ = try await rig.ness.httpRequest(withUrl: "no").dataRequest().value }
        #expect(rig.mock.requests.isEmpty)
        await #expect(throws: Rejected(name: "back")) { _ = try await rig.ness.httpRequest(withUrl: "back").dataRequest().value }
        _ = try await rig.ness.httpRequest(withUrl: "yes").dataRequest().value
        #expect(rig.mock.requests.count == 2)
    }

    @Test("a hook can change a response before the validators see it")
    func responseHooks() async throws {
        let rig = Rig(onUnmatched: .reply(.status(404))) {
            $0.loaders = [.modifyResponse { $0.statusCode += 1 }, .modifyResponse { $0.headers["Seen"] = "\($0.statusCode)" }]
        }
        let message = try await rig.ness.httpRequest(withUrl: "x").validate(statusCode: 405).dataRequest().value.message
        // Responses pass the loaders in reverse order.
        #expect(message.headers["Seen"] == "404")
    }

    @Test(
        "a hook may log in and resend the request, with one start, one end and one response")
    func goingAgain() async throws {
        let login = Rig()
        login.mock.on(.post, "/login", replies: [.text("fresh")])
        let token = Lock("stale")
        let recorder = ObserverTests.Recorder()
        let rig = Rig {
            $0.observers = [recorder]
            $0.loaders = [
                .followUp { response in
                    guard response.statusCode == 401 else { return .accept }
                    let text = try await login.ness.httpRequest(.post, withUrl: "login").dataRequest().value.message.text
                    token.withLock { $0 = text }
                    return .retry
                },
                .modifyRequest { request in request.headers["Authorization"] = "Bearer \(token.withLock { $0 })" },
            ]
        }
        rig.mock.on(.get, "/x") { $0.headers["Authorization"] == "Bearer fresh" ? .text("in") : .status(401) }
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.text == "in")
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == ["Bearer stale", "Bearer fresh"])
        #expect(login.mock.requests.count == 1)
        #expect(recorder.events.filter { $0 == "start" || $0 == "end" } == ["start", "end"])
        #expect(recorder.events.contains("success 200"))
    }

    @Test("a request that a loader makes itself is not part of the caller's download or stream")
    func ownRequestsOfTransfers() async throws {
        try await withFolder { folder in
            let login = try url("https://mock.test/login"), file = folder.appendingPathComponent("file")
            let rig = Rig {
                $0.loaders = [
                    .loader { request, next in
                        #expect(try await next(HTTPRequest(url: login)).text == "token")
                        return try await next(request)
                    }
                ]
            }
            rig.mock.on(.get, "/login") { _ in .text("token") }
            rig.mock.on(.get, "/x") { _ in .text("content") }
            let saved = try await rig.ness.httpRequest(withUrl: "x").downloadRequest(forSavedLocation: file).value
            #expect(try Data(contentsOf: saved.dataLocalURL) == Data("content".utf8))
            var lines: [String] = []
            for try await line in rig.ness.httpRequest(withUrl: "x").streamRequest().lines { lines.append(line) }
            #expect(lines == ["content"])
            #expect(rig.mock.requests.map(\.url.path) == ["/login", "/x", "/login", "/x"])
        }
    }

    @Test("a hook may send another request, which passes only the steps below the hook")
    func another() async throws {
        let rig = Rig {
            $0.loaders = [
                .modifyRequest { $0.headers.add("1", for: "Above") },
                .followUp { response in
                    guard response.statusCode == 202, let url = URL(string: "https://mock.test/done") else { return .accept }
                    return .send(HTTPRequest(url: url))
                },
                .modifyRequest { $0.headers.add("1", for: "Below") },
            ]
        }
        rig.mock.on(.post, "/job", replies: [.status(202)])
        rig.mock.on(.get, "/done", replies: [.text("result")])
        // Also after a reset: a request that a hook makes belongs to the caller's request.
        await rig.ness.reset()
        #expect(try await rig.ness.httpRequest(.post, withUrl: "job").dataRequest().value.message.text == "result")
        #expect(rig.mock.requests.map { $0.headers["Above"] } == ["1", nil])
        #expect(rig.mock.requests.map { $0.headers["Below"] } == ["1", "1"])
    }

    @Test("a hook is called up to its limit, and the response after that is accepted", arguments: [0, 1, 3])
    func limit(_ limit: Int) async throws {
        let asked = Tally()
        let rig = Rig(onUnmatched: .reply(.status(401))) {
            $0.loaders = [
                .followUp(atMost: limit) { _ in
                    asked.enter()
                    return .retry
                }
            ]
        }
        let status = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode
        #expect(status == 401)
        #expect(asked.total == limit)
        #expect(rig.mock.requests.count == limit + 1)
    }

    @Test("an error that a follow-up throws is the request's error")
    func failedFollowUp() async throws {
        let rig = Rig(onUnmatched: .reply(.status(401))) { $0.loaders = [.followUp { _ in throw Rejected() }] }
        await #expect(throws: Rejected.self) { _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value }
        #expect(rig.mock.requests.count == 1)
    }

    @Test("a request that is dropped while its hook waits ends immediately, and is not sent again")
    func dropped() async throws {
        let reached = TestGate(), left = TestGate()
        let rig = Rig(onUnmatched: .reply(.status(401))) {
            $0.loaders = [
                .followUp { _ in
                    reached.open()
                    await TestGate().wait()
                    left.open()
                    return .retry
                }
            ]
        }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await reached.wait()
        promise.drop()
        #expect(await promise.nessError()?.kind == .dropped)
        await left.wait()
        await rig.ness.reset()
        #expect(rig.mock.requests.count == 1)
    }

    @Test("a one-line closure can return a response")
    func answering() async throws {
        let rig = Rig { $0.loaders = [.loader { request, _ in HTTPResponse(statusCode: 299, request: request) }] }
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == 299)
        #expect(rig.mock.requests.isEmpty)
    }

    @Test("hooks run off the main thread, may suspend, and keep their state as long as the manager lives")
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

    /// Returns a manager whose hook sends the request again after a 401, once a gate opens.
    private func waiting(_ recorder: ObserverTests.Recorder, _ reached: TestGate, _ go: TestGate) -> Rig {
        let rig = ObserverTests.rig([recorder]) {
            $0.loaders = [
                .followUp { response in
                    guard response.statusCode == 401 else { return .accept }
                    reached.open()
                    await go.wait()
                    return .retry
                }
            ]
        }
        rig.mock.on(.get, "/x", replies: [.status(401), .text("in")])
        return rig
    }

    @Test("a request rests while a hook waits, and continues without a second start")
    func interruption() async throws {
        let recorder = ObserverTests.Recorder(), reached = TestGate(), go = TestGate()
        let rig = waiting(recorder, reached, go)
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await reached.wait()
        let before = ObserverTests.sent + ["head"]
        for _ in 0..<100 { await Task.yield() }
        #expect(recorder.events == before && !promise.isCompleted && rig.mock.requests.count == 1)
        go.open()
        #expect(try await promise.value.message.text == "in")
        await recorder.log.wait(for: before.count + 6)
        #expect(recorder.events == before + ["exchange", "head", "received 200", "success 200"] + ObserverTests.ended)
    }

    @Test("a drop while a hook waits ends the request like any drop")
    func breaking() async throws {
        let recorder = ObserverTests.Recorder(), reached = TestGate()
        let rig = waiting(recorder, reached, TestGate())
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await reached.wait()
        promise.drop()
        #expect(await promise.nessError()?.kind == .dropped)
        await rig.ness.reset()
        await recorder.log.wait(for: 7)
        #expect(recorder.events == ObserverTests.sent + ["head", "failure dropped"] + ObserverTests.ended)
        #expect(rig.mock.requests.count == 1)
    }
}
