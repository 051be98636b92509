import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The closures of a builder that hear of heads and interim responses.
@Suite(.inTurn) struct ListenerTests {
    private struct TooLong: Error, Equatable {}

    /// A transport that sends hints, a head, a piece, and another piece when a gate opens.
    private func ness(_ gate: TestGate, _ configure: (inout Ness.Configuration) -> Void = { _ in }) -> Ness {
        Ness {
            $0.baseURL = URL(string: "http://x")
            $0.transport = FakeTransport { _, receive in
                try await receive(.interim(statusCode: 102, headers: [:]))
                try await receive(.interim(statusCode: 103, headers: ["Link": "</a>"]))
                try await receive(.head(statusCode: 200, headers: ["Content-Length": "2", "X-A": "1"]))
                try await receive(.body(Data("a".utf8)))
                await gate.wait()
                try await receive(.body(Data("b".utf8)))
            }
            configure(&$0)
        }
    }

    @Test("the head of a data request is there before its body, after the interim responses")
    func head() async throws {
        let gate = TestGate(), heard = Log<String>()
        let promise = ness(gate).httpRequest(withUrl: "a")
            .onInterim { heard.add("\($0.statusCode) \($0.headers["Link"] ?? "-") \($0.url.path)") }
            .onHead { head in heard.add("\(head.statusCode) \(head.headers["X-A"] ?? "-") \(head.body.count)") }
            .onHead { _ in heard.add("second") }
            .dataRequest()
        await heard.wait(for: 4)
        #expect(heard.entries == ["102 - /a", "103 </a> /a", "200 1 0", "second"])
        #expect(!promise.isCompleted)
        gate.open()
        #expect(try await promise.value.message.text == "ab")
        #expect(heard.entries.count == 4)
    }

    @Test(
        "an error that a closure throws for the head ends the request immediately, closes the connection, and is the promise's error",
        arguments: 0..<4)
    func drop(way: Int) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nETag: \"1\"\r\n\r\na"
        try await withServer({ _ in .script([.send(head), .stall]) }) {
            $0.retryControl = CounterRetryControl(maxRetryCount: 3)
        } _: { server, ness in
            let request = ness.httpRequest(withUrl: "x").onHead { head in
                if head.headers["Content-Length"] == "9" { throw TooLong() }
            }
            try await withFolder { folder in
                await #expect(throws: TooLong.self) {
                    switch way {
                    case 0: _ = try await request.response()
                    case 1: _ = try await request.decoded(as: User.self)
                    case 2: _ = try await request.downloadRequest(forSavedLocation: folder.appending(path: "a")).value
                    default: for try await _ in request.streamRequest().chunks {}
                    }
                }
                #expect(!folder.entries.contains("a"))
            }
            #expect(await server.waitUntil { $0.openConnections == 0 })
            #expect(server.requests.count == 1)
        }
    }

    @Test("the measurements of a request are reported at its end, with its outcome and its attempts", arguments: [200, 404])
    func metrics(_ last: Int) async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.status(503), .status(last)])
        let heard = Log<RequestMetrics>()
        let request = rig.ness.get("x").validate().set(retry: .backoff(maxRetryCount: 1)).onMetrics { heard.add($0) }
        let outcome = await request.dataRequest().settled
        #expect(heard.entries.map(\.attempts) == [2])
        #expect((try? heard.entries.first?.outcome.get().statusCode) == (last == 200 ? 200 : nil))
        #expect((try? outcome.get().message.statusCode) == (last == 200 ? 200 : nil))
    }

    @Test("observers see the error of a closure")
    func observers() async throws {
        final class Failures: RequestObserver {
            let log = Log<String>()
            func requestDidFail(_ request: HTTPRequest, with error: any Error) { log.add("\(error)") }
        }
        let failures = Failures()
        let promise = ness(TestGate()) { $0.observers = [failures] }.httpRequest(withUrl: "a").onHead { _ in throw TooLong() }.dataRequest()
        await #expect(throws: TooLong.self) { _ = try await promise.value }
        await failures.log.wait(for: 1)
        #expect(failures.log.entries == ["TooLong()"])
    }

    @Test("heads of redirects and of each attempt are reported, in the order of the exchanges")
    func everyExchange() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/1", replies: [.status(503), .status(302, headers: ["Location": "/2"])])
        rig.mock.on(.get, "/2") { _ in .text("end") }
        let heard = Log<String>()
        let request = rig.ness.httpRequest(withUrl: "1").onHead { heard.add("\($0.url.path) \($0.statusCode)") }
        _ = try await request.set(retry: CounterRetryControl(maxRetryCount: 1)).response()
        #expect(heard.entries == ["/1 503", "/1 302", "/2 200"])
    }

    @Test("a caller who joins a shared exchange late receives its head, and may leave the exchange")
    func shared() async throws {
        let gate = TestGate(), first = Log<Int>(), second = Log<Int>()
        let ness = ness(gate)
        let begun = ness.httpRequest(withUrl: "a").onHead { first.add($0.statusCode) }.dataRequest()
        await first.wait(for: 1)
        let joined = ness.httpRequest(withUrl: "a").onHead { head in
            second.add(head.body.count)
            throw TooLong()
        }.dataRequest()
        await #expect(throws: TooLong.self) { _ = try await joined.value }
        #expect(second.entries == [0])
        gate.open()
        #expect(try await begun.value.message.text == "ab")
    }

    @Test("a response from the cache reports no head; a dropped request reports nothing more")
    func nothing() async throws {
        let rig = Rig { $0.cache = HTTPCache(memoryLimit: 1 << 20) }
        rig.mock.on(.get, "/x") { _ in .text("a", headers: ["Cache-Control": "max-age=60"]) }
        let heard = Log<Int>()
        let request = rig.ness.httpRequest(withUrl: "x").onHead { heard.add($0.statusCode) }
        _ = try await request.response()
        #expect(try await request.response().source == .cache)
        #expect(heard.entries == [200])

        // The first closure drops the request, so the second hears nothing.
        let promise = Lock<DataPromise?>(nil), started = TestGate(), late = Log<Int>()
        rig.mock.on(.get, "/y") { _ in
            await started.wait()
            return .text("b")
        }
        let dropped = rig.ness.httpRequest(withUrl: "y").onHead { _ in promise.withLock { $0 }?.drop() }
            .onHead { late.add($0.statusCode) }.dataRequest()
        promise.withLock { $0 = dropped }
        started.open()
        #expect(await dropped.nessError()?.kind == .dropped)
        await rig.ness.reset()
        #expect(late.entries.isEmpty)
    }

    #if os(Linux)
    @Test("over libcurl early hints are reported before the server sends its response")
    func earlyHints() async throws {
        let isHinted = TestGate()
        let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
        let final = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        try await serving({ _ in .script([.send(early), .wait(isHinted), .send(final), .close]) }) { server in
            let curl = try CurlTransport { _ in }
            let text = try await Ness { $0.transport = curl }.httpRequest(withUrl: server.url)
                .onInterim { if $0.headers["Link"] == "</a>; rel=preload" { isHinted.open() } }
                .text()
            #expect(text == "ok")
        }
    }
    #endif

    @Test("every listener runs on the queue that is named, even after the end of the request")
    func queues() async throws {
        let queue = DispatchQueue(label: "test"), key = DispatchSpecificKey<Bool>(), heard = Log<String>()
        queue.setSpecific(key: key, value: true)
        @Sendable func hear(_ name: String) { heard.add(DispatchQueue.getSpecific(key: key) == true ? name : "\(name) elsewhere") }
        let gate = TestGate()
        gate.open()
        // The queue is free only after the end of the request.
        queue.suspend()
        let promise = ness(gate).httpRequest(withUrl: "x")
            .onInterim(on: queue) { _ in hear("interim") }
            .onHead(on: queue) { _ in hear("head") }
            .onMetrics(on: queue) { _ in hear("metrics") }
            .onProgress(on: queue) { _ in hear("builder") }
            .dataRequest().onProgress(on: queue) { _ in hear("promise") }
        TotalProgress(of: [promise]).onProgress(on: queue) { _ in hear("total") }
        let text = try? await promise.value.message.text
        queue.resume()
        #expect(text == "ab")
        await heard.wait { Set($0) == ["interim", "head", "metrics", "builder", "promise", "total"] }
        #expect(!heard.entries.contains { $0.hasSuffix("elsewhere") })
    }

    @Test("progress on the main actor reaches what belongs to it")
    @MainActor func mainActor() async throws {
        @MainActor final class Bar { var fractions: [Double?] = [] }
        let bar = Bar(), heard = Log<String>(), rig = Rig(onUnmatched: .reply(.text("ok")))
        @MainActor func show(_ name: String, _ progress: TransferProgress) {
            bar.fractions.append(progress.fractionCompleted)
            if progress.fractionCompleted == 1 { heard.add(name) }
        }
        let promise = rig.ness.httpRequest(withUrl: "x").onProgress(onMain: { show("builder", $0) }).dataRequest()
            .onProgress(onMain: { show("promise", $0) })
        TotalProgress(of: [promise]).onProgress(onMain: { show("total", $0) })
        await heard.wait { Set($0) == ["builder", "promise", "total"] }
        #expect(bar.fractions.count >= 3)
    }

    @Test("an error of onHead on a queue ends the request, and no further closure receives that head")
    func headOnQueue() async throws {
        let queue = DispatchQueue(label: "test"), heard = Log<Int>(), gate = TestGate()
        try await withServer({ _ in .script([.send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 2\r\n\r\n"), .wait(gate)]) }) { _, ness in
            let promise = ness.httpRequest(withUrl: "x").onHead(on: queue) { _ in throw Rejected() }
                .onHead(on: queue) { heard.add($0.statusCode) }.dataRequest()
            await #expect(throws: Rejected.self) { _ = try await promise.value }
            queue.sync {}
            #expect(heard.entries.isEmpty)
            gate.open()
        }
    }
}
