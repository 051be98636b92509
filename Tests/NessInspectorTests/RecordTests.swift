import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP
@testable import NessInspector

/// An inspector keeps what it observes, and the page shows it.
@Suite(.inTurn) struct RecordTests {
    /// A manager over a mock, with an inspector.
    private struct Inspected {
        let rig: Rig
        let inspector: Inspector

        init(
            _ limits: Inspector.Limits = Inspector.Limits(), advances: Bool = true,
            _ configure: (inout Ness.Configuration) -> Void = { _ in }
        ) async throws {
            let inspector = try await Inspector.start(limits: limits) { _ in }
            self.inspector = inspector
            rig = Rig(advances: advances) {
                $0.observers = [inspector]
                configure(&$0)
            }
        }

        /// The rows, when all requests have ended.
        func rows() async throws -> [RequestSummary] {
            var known = 0
            while true {
                let changes = try #require(await inspector.records.changes(after: &known))
                let rows = inspector.records.records(Array(1...max(1, changes.totals.requests))).map(RequestSummary.init)
                if rows.allSatisfy({ $0.record.end != nil }) { return rows }
            }
        }

        func totals() async throws -> RequestRecords.Totals {
            var known = 0
            return try #require(await inspector.records.changes(after: &known)).totals
        }
    }

    private func kinds(_ row: RequestSummary) -> [RequestSummary.Span.Kind] { row.spans.map(\.kind) }

    @Test("a retry is a span with its reason between two exchanges")
    func retry() async throws {
        let inspected = try await Inspected { $0.retryControl = CounterRetryControl(maxRetryCount: 1) }
        inspected.rig.mock.on(.get, "/a", replies: [.status(503, headers: ["Retry-After": "2"]), .text("hello")])
        _ = try await inspected.rig.ness.get("a").dataRequest().value
        let row = try #require(try await inspected.rows().first)
        #expect(row.attempts == 2 && row.exchanges.map(\.attempt) == [1, 2] && row.state == .succeeded)
        #expect(row.spans.filter { $0.kind == .retry }.map(\.note) == ["503, Retry-After 2.0 s, next attempt after 2.0 s"])
        #expect(row.spans.allSatisfy { $0.end != nil } && row.exchanges.allSatisfy { $0.end != nil })
        #expect(try await inspected.totals().retries == 1)
    }

    @Test("of six requests that get a 401, one shows the refresh, and the others wait for it")
    func refresh() async throws {
        let isHeld = TestGate()
        let authentication = RefreshableAuthentication(
            credential: "old", apply: { ["Authorization": "Bearer \($0)"] }
        ) { _, _ in
            await isHeld.wait()
            return "new"
        }
        let inspected = try await Inspected { $0.authentication = authentication }
        inspected.rig.mock.on(.get, "/:name") { request in
            request.headers["Authorization"] == "Bearer new" ? .text("hello") : .status(401, headers: ["WWW-Authenticate": "Bearer"])
        }
        let promises = (1...6).map { inspected.rig.ness.get("\($0)").dataRequest() }
        try await inspected.rig.ness.waitForRequests(6, at: .refresh)
        isHeld.open()
        for promise in promises { _ = try await promise.value }
        let rows = try await inspected.rows()
        #expect(rows.filter { kinds($0).contains(.refresh) }.count == 1)
        #expect(rows.filter { kinds($0).contains(.refreshWait) }.count == 5)
        #expect(rows.allSatisfy { $0.exchanges.count == 2 && $0.attempts == 1 })
    }

    @Test("callers who share an exchange have its number, and one of them started it")
    func shared() async throws {
        let isHeld = TestGate()
        let inspected = try await Inspected()
        inspected.rig.mock.on(.get, "/a") { _ in
            await isHeld.wait()
            return .text("hello")
        }
        let promises = (1...3).map { _ in inspected.rig.ness.get("a").dataRequest() }
        var known = 0
        while try await #require(inspected.inspector.records.changes(after: &known)).totals.joined < 2 {}
        isHeld.open()
        for promise in promises { _ = try await promise.value }
        let exchanges = try await inspected.rows().flatMap(\.exchanges).map(\.exchange)
        #expect(Set(exchanges.map(\.id)).count == 1 && exchanges.filter { !$0.isJoined }.count == 1)
        let totals = try await inspected.totals()
        #expect(totals.requests == 3 && totals.exchanges == 1 && totals.joined == 2)
    }

    @Test("redirects are exchanges of one attempt; a failure and a drop are told apart; a cached response has no exchange")
    func outcomes() async throws {
        let inspected = try await Inspected { $0.cache = HTTPCache(memoryLimit: 10 << 20) }
        inspected.rig.mock.on(.get, "/old", replies: [.status(302, headers: ["Location": "/new"])])
        inspected.rig.mock.on(.get, "/new") { _ in .text("hello", headers: ["Cache-Control": "max-age=60"]) }
        inspected.rig.mock.on(.get, "/bad", replies: [.failure(.connectionLost)])
        let never = TestGate()
        inspected.rig.mock.on(.get, "/never") { _ in
            await never.wait()
            return .text("")
        }
        _ = try await inspected.rig.ness.get("old").dataRequest().value
        _ = try await inspected.rig.ness.get("new").dataRequest().value
        _ = await inspected.rig.ness.get("bad").dataRequest().settled
        let dropped = inspected.rig.ness.get("never").dataRequest()
        var known = 0
        while try await #require(inspected.inspector.records.changes(after: &known)).totals.exchanges < 4 {}
        dropped.drop()
        let rows = try await inspected.rows()
        #expect(rows.map(\.state) == [.succeeded, .succeeded, .failed, .dropped])
        #expect(rows.map(\.exchanges.count) == [2, 0, 1, 1] && rows[0].exchanges.map(\.attempt) == [1, 1])
        #expect(rows[1].json(rows[1].redactor)["source"]?.stringValue == "cache" && rows[2].outcome?.error?.contains("connection") == true)
        let totals = try await inspected.totals()
        #expect(totals.cached == 1 && totals.failed == 1 && totals.requests == 4)
    }

    @Test("running requests and the newest thousand others are kept")
    func count() async throws {
        let inspected = try await Inspected()
        let isHeld = TestGate()
        inspected.rig.mock.on(.get, "/:name") { _ in .text("hello") }
        inspected.rig.mock.on(.get, "/held") { _ in
            await isHeld.wait()
            return .text("")
        }
        let held = inspected.rig.ness.get("held").dataRequest()
        for number in 1...3_000 { _ = try await inspected.rig.ness.get("\(number)").dataRequest().value }
        var known = 0
        var kept: [Int]?
        while kept?.last != 3_001 || kept?.count != 1_001 {
            kept = try #require(await inspected.inspector.records.changes(after: &known)).kept ?? kept
        }
        #expect(kept?.first == 1)
        isHeld.open()
        _ = try await held.value
        inspected.inspector.records.clear()
        #expect(try #require(await inspected.inspector.records.changes(after: &known)).totals.requests == 0)
    }

    @Test("the oldest are forgotten beyond the limit of bytes, and a body that is too long is left out with its size")
    func bytes() async throws {
        let inspected = try await Inspected(Inspector.Limits(maximumBytes: 10_000, maximumBodyBytes: 1_000))
        inspected.rig.mock.on(.post, "/long") { _ in .data(Data(repeating: 65, count: 1_001), status: 404) }
        inspected.rig.mock.on(.get, "/short") { _ in .data(Data(repeating: 65, count: 1_000)) }
        _ = await inspected.rig.ness.post("long").set(body: Data(repeating: 66, count: 1_002)).validate(statusCodes: 200..<300)
            .dataRequest().settled
        let row = try #require(try await inspected.rows().first)
        let details = row.details()
        // The start of the request's body stays, for its secrets.
        #expect(row.record.bytes == 1_002 && row.state == .failed)
        for (body, size) in [
            (details["response"]?["body"], 1_001), (details["request"]?["body"], 1_002),
            (details["exchanges"]?[0]?["response"]?["body"], 1_001), (details["exchanges"]?[0]?["request"]?["body"], 1_002),
        ] {
            #expect(body?["size"]?.intValue == size && body?["text"] == .null)
            #expect(body?["omitted"]?.stringValue == "too long to keep")
        }
        for _ in 1...20 { _ = try await inspected.rig.ness.get("short").dataRequest().value }
        var known = 0
        var changes = try #require(await inspected.inspector.records.changes(after: &known))
        while changes.kept?.last != 21 || inspected.inspector.records.records([21]).first?.end == nil {
            changes = try #require(await inspected.inspector.records.changes(after: &known))
        }
        #expect(changes.kept?.count == 10)
    }

    @Test("a paused download is one attempt with a pause between two exchanges, and has one row in the archive for each")
    func pause() async throws {
        let inspected = try await Inspected()
        let isHeld = TestGate()
        inspected.rig.mock.on(.get, "/film") { request in
            if request.headers["Range"] == nil { await isHeld.wait() }
            return .text("hello", headers: ["ETag": "\"1\""])
        }
        try await withFolder { folder in try await pause(inspected, isHeld, folder.appending(path: "film")) }
    }

    private func pause(_ inspected: Inspected, _ isHeld: TestGate, _ file: URL) async throws {
        let film = inspected.rig.ness.get("film").downloadRequest(forSavedLocation: file)
        var known = 0
        while try await #require(inspected.inspector.records.changes(after: &known)).totals.exchanges < 1 {}
        film.pause()
        while try await #require(inspected.inspector.records.changes(after: &known)).records.last.map(RequestSummary.init)?.state != .paused
        {}
        isHeld.open()
        film.resume()
        _ = try await film.value
        let row = try #require(try await inspected.rows().first)
        #expect(row.attempts == 1 && row.exchanges.count == 2 && row.spans.filter { $0.kind == .pause }.count == 1)
        #expect(HTTPArchive([row.record], since: .now).entries.count == 2)
    }

    @Test("a page shows no secret of a request, its response or its error")
    func secrets() async throws {
        let inspected = try await Inspected {
            $0.authentication = .bearer("hunter2")
            $0.secretNames = ["pin"]
        }
        inspected.rig.mock.on(.post, "/a") { _ in
            .json(["token": "hunter2", "echo": "hunter2", "name": "Tom"], status: 400, headers: ["Set-Cookie": "id=hunter2"])
        }
        _ = await inspected.rig.ness.post("a").set(urlParameters: ["pin": "hunter2"]).set(jsonBody: ["password": "hunter2"])
            .validate(statusCodes: 200..<300).dataRequest().settled
        let row = try #require(try await inspected.rows().first)
        let details = try String(decoding: row.details().encoded(), as: UTF8.self)
        #expect(!details.contains("hunter2") && details.contains("Tom") && details.contains("<redacted>"))
        let archive = try String(decoding: HTTPArchive([row.record], since: .now).encoded(), as: UTF8.self)
        #expect(!archive.contains("hunter2") && archive.contains("Tom"))
    }

    @Test("a secret of one exchange is hidden in the response of another, and a compressed body is not shown")
    func secretsOfOtherExchanges() async throws {
        let authentication = RefreshableAuthentication(credential: "hunter2", apply: { ["Authorization": "Bearer \($0)"] }) { _, _ in
            "hunter3"
        }
        let inspected = try await Inspected { $0.authentication = authentication }
        let packed = try GzipEncoder.encode(Data("hunter3".utf8))
        inspected.rig.mock.on(
            .get, "/a",
            replies: [
                .status(401, headers: ["WWW-Authenticate": "Bearer"]), .text("the old one was hunter2, the new one is hunter3"),
                .data(packed, headers: ["Content-Encoding": "gzip"]),
            ])
        _ = try await inspected.rig.ness.get("a").dataRequest().value
        _ = try await inspected.rig.ness.get("a").set(option: KeepsContentCoding.self, to: true).dataRequest().value
        let rows = try await inspected.rows()
        let details = try rows.map { try String(decoding: $0.details().encoded(), as: UTF8.self) }
        #expect(details[0].contains("the old one was <redacted>, the new one is <redacted>"))
        #expect(!details[1].contains(packed.base64EncodedString().prefix(12)) && details[1].contains("cannot be searched"))
        let archive = try String(decoding: HTTPArchive(rows.map(\.record), since: .now).encoded(), as: UTF8.self)
        #expect(!archive.contains("hunter") && !archive.contains(packed.base64EncodedString().prefix(12)))
    }

    @Test("the waits of several segments at one place are one span, from the first start to the last end")
    func overlappingWaits() {
        var record = RequestRecord(number: 1, request: HTTPRequest(url: here), start: .zero, change: 1, limits: Inspector.Limits())
        let events: [(RequestRecord.Event, Duration)] = [
            (.wait(.hostQueue), .seconds(1)), (.wait(.hostQueue), .seconds(2)), (.waited(.hostQueue), .seconds(3)),
            (.waited(.hostQueue), .seconds(4)), (.wait(.throttle), .seconds(5)),
        ]
        for (event, time) in events { _ = record.add(event, at: time, change: 2) }
        #expect(
            RequestSummary(record).spans == [
                .init(kind: .hostQueue, start: .seconds(1), end: .seconds(4)), .init(kind: .throttle, start: .seconds(5)),
            ])
    }

    @Test("a request that is retried for days takes a limited memory, and at its end nothing in it runs")
    func endless() {
        let limits = Inspector.Limits(maximumBytes: 8_000)
        let request = HTTPRequest(url: here)
        var record = RequestRecord(number: 1, request: request, start: .zero, change: 1, limits: limits)
        let busy = Outcome(.success(HTTPResponse(statusCode: 503, body: Data(count: 100), request: request)))
        for number in 1...2_000 {
            let exchange = RequestExchange(request), time = Duration.seconds(number)
            _ = record.add(.begin(exchange), at: time, change: number)
            _ = record.add(.wait(.throttle), at: time, change: number)
            _ = record.add(.end(exchange: exchange.id, busy), at: time, change: number)
        }
        #expect(record.events.count == RequestRecord.eventLimit && record.bytes == 1_000)
        _ = record.add(.outcome(busy, RequestMetrics()), at: .seconds(6_000), change: 6_000)
        let summary = RequestSummary(record)
        #expect(summary.state == .succeeded && summary.exchanges.allSatisfy { $0.end != nil } && summary.spans.allSatisfy { $0.end != nil })
    }

    private let here = URL(filePath: "/")
}
