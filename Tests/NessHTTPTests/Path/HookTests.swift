import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn(.withoutSockets)) struct HookTests {
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

    @Test(
        "a hook may log in and resend the request, with one start, one end and one response")
    func goingAgain() async throws {
        let login = Rig()
        login.mock.on(.post, "/login", replies: [.text("fresh")])
        let token = Lock("stale")
        let recorder = EventRecorder()
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

    @Test(
        "a hook is called up to its limit, which is one by default, and the response after that is accepted",
        arguments: [nil, 0, 1, 3] as [Int?])
    func limit(_ limit: Int?) async throws {
        let asked = Tally()
        let decide: @Sendable (HTTPResponse) async throws -> FollowUp = { _ in
            asked.enter()
            return .retry
        }
        let hook = if let limit { ClosureLoader.followUp(atMost: limit, decide) } else { ClosureLoader.followUp(decide) }
        let rig = Rig(onUnmatched: .reply(.status(401))) { $0.loaders = [hook] }
        let status = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode
        #expect(status == 401)
        #expect(asked.total == limit ?? 1)
        #expect(rig.mock.requests.count == (limit ?? 1) + 1)
    }

    @Test("an error that a follow-up throws is the request's error")
    func failedFollowUp() async throws {
        let rig = Rig(onUnmatched: .reply(.status(401))) { $0.loaders = [.followUp { _ in throw Rejected() }] }
        await #expect(throws: Rejected.self) { _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value }
        #expect(rig.mock.requests.count == 1)
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
}
