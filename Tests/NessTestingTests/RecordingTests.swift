import Foundation
import NessHTTP
import NessLock
import TestSupport
import Testing

@testable import NessTesting

@Suite(.inTurn) struct RecordingTests {
    /// Records the replies of a mock, writes and reads the archive, and replays it to the same requests.
    private func roundTrip(
        _ mock: MockTransport, _ configure: (inout Ness.Configuration) -> Void = { _ in },
        _ requests: (Ness) async throws -> [String]
    ) async throws -> (recorded: HTTPArchive, replay: ReplayTransport) {
        let recorder = RecordingTransport(wrapping: mock)
        let recorded = try await requests(mocked(recorder, configure: configure))
        let archive = try HTTPArchive(data: recorder.archive.encoded())
        #expect(archive == recorder.archive)
        let replay = ReplayTransport(archive)
        let replayed = try await requests(mocked(replay, configure: configure))
        #expect(replayed == recorded)
        return (archive, replay)
    }

    @Test("a replay responds like the recorded server: statuses, headers, bodies, in order, the last one repeatedly")
    func plain() async throws {
        let mock = MockTransport()
        let bytes = Data((0...255).map { UInt8($0) })
        mock.on(.get, "/text", replies: [.text("one"), .text("zwei \u{1F98A}", status: 201, headers: ["X": "1"]), .status(204)])
        mock.on(.get, "/raw") { _ in .chunked([bytes, bytes], headers: ["Content-Type": "image/x"]) }
        mock.on(.head, "/text") { _ in .status(200, headers: ["Content-Length": "99"]) }
        mock.on(.get, "/moved") { _ in .status(302, headers: ["Location": "/raw"]) }
        let (archive, replay) = try await roundTrip(mock) { ness in
            var seen: [String] = []
            for path in ["text", "text", "text", "text", "raw", "moved"] {
                let message = try await ness.get(path).response()
                seen.append("\(message.statusCode) \(message.headers["X"] ?? "-") \(message.body.base64EncodedString())")
            }
            let head = try await ness.head("text").response()
            return seen + [head.headers["Content-Length"] ?? "-"]
        }
        #expect(archive.entries.map(\.response.status) == [200, 201, 204, 204, 200, 302, 200, 200])
        #expect(archive.entries[4].response.body.isBase64)
        #expect(replay.unusedEntries.isEmpty)
    }

    @Test("a replay distinguishes requests by text, form, JSON value or bytes, but not by multipart bodies")
    func bodies() async throws {
        let mock = MockTransport()
        mock.on(.post, "/x") { .text("got \($0.body.base64EncodedString())") }
        mock.on(.put, "/x") { _ in .text("parts") }
        let recorder = RecordingTransport(wrapping: mock)
        let sets: [@Sendable (RequestBuilder) -> RequestBuilder] = [
            { $0.set(stringBody: "a") }, { $0.set(stringBody: "b") }, { $0.set(form: ["q": "1 & 2"]) },
            { $0.set(body: Data([0xFF, 0xFE])) },
            { $0 },
        ]
        func answers(_ ness: Ness) async throws -> [String] {
            var seen: [String] = []
            for set in sets { seen.append(try await set(ness.post("x")).response().text) }
            return seen
        }
        let recorded = try await answers(mocked(recorder))
        let json = HTTPBody(Data(#"{"a": 1, "b": [true]}"#.utf8), headers: ["Content-Type": "application/json"])
        _ = try await mocked(recorder).post("x").set(body: json.data ?? Data())
            .set(headers: ["Content-Type": "application/json"]).dataRequest().value
        let parts: @Sendable (Ness) -> DataPromise = { ness in
            var form = MultipartForm()
            form.append("hunter2", named: "password")
            return ness.put("x").set(multipart: form).dataRequest()
        }
        _ = try await parts(mocked(recorder)).value
        let data = try recorder.archive.encoded()
        #expect(!String(decoding: data, as: UTF8.self).contains("hunter2"))
        let replay = try ReplayTransport(HTTPArchive(data: data))
        // In another order, each request still gets its own response.
        #expect(try await parts(mocked(replay)).value.message.text == "parts")
        let same = try await mocked(replay).post("x").set(jsonBody: ["b": [true], "a": 1]).dataRequest().value
        #expect(same.message.text.hasPrefix("got "))
        #expect(try await answers(mocked(replay)) == recorded)
        await #expect(throws: UnmatchedRequest.self) { try await mocked(replay).post("x").set(stringBody: "c").response() }
    }

    @Test("no secret gets into the file, and none is needed to replay")
    func secrets() async throws {
        let mock = MockTransport()
        mock.on(.post, "/login") { _ in
            .text(
                #"{"access_token":"hunter2","pin":"hunter2","name":"a"}"#,
                headers: ["Set-Cookie": "session=hunter2; Path=/", "X-Key": "hunter2", "Content-Type": "application/json"])
        }
        mock.on(.get, "/go") { _ in .status(302, headers: ["Location": "https://mock.test/done?code=hunter2&x=1"]) }
        mock.on(.get, "/done") { .text("done \($0.queryItems.count)") }
        let password = Lock("hunter2")
        let (archive, _) = try await roundTrip(mock) {
            $0.secretNames = ["X-Key", "pin"]
            $0.defaultHeaders = ["Authorization": "Bearer hunter2", "Cookie": "a=hunter2", "X-Key": "hunter2"]
        } _: { ness in
            // Other secrets in the replayed request.
            let secret = password.withLock { password in
                defer { password = "changed" }
                return password
            }
            let form: URLQuery = ["password": secret, "user": "me"]
            let login = try await ness.post("login?token=\(secret)&q=1").set(form: form).dataRequest().value
            let json = try await ness.post("login").set(jsonBody: ["pin": .string(secret), "a": 1]).dataRequest()
                .value
            let done = try await ness.get("https://me:\(secret)@mock.test/go").response().text
            return ["\(login.message.statusCode) \(json.message.statusCode)", done]
        }
        let text = String(decoding: try archive.encoded(), as: UTF8.self)
        #expect(!text.contains("hunter2") && !text.contains(Data("hunter2".utf8).base64EncodedString()))
        #expect(archive.entries[0].request.url == "https://mock.test/login?token=%3Credacted%3E&q=1")
        #expect(archive.entries[0].request.body?.text == "password=<redacted>&user=me")
        #expect(text.contains("user=me") && text.contains(#"\"name\":\"a\""#))
    }

    @Test("no secret of a Content-Type gets into the file: no parameter, and nothing that the server repeats")
    func secretTypes() async throws {
        let mock = MockTransport()
        mock.on(.post, "/x") { _ in .text("x", headers: ["Content-Type": "text/hunter2; echo=hunter2"]) }
        let (archive, _) = try await roundTrip(mock) {
            $0.defaultHeaders = ["Authorization": "Bearer hunter2", "Content-Type": "text/plain; token=swordfish"]
        } _: { ness in
            [try await ness.post("x").set(stringBody: "x").response().text]
        }
        let text = String(decoding: try archive.encoded(), as: UTF8.self)
        #expect(!text.contains("hunter2") && !text.contains("swordfish"))
        #expect(archive.entries[0].request.body?.mimeType == "text/plain")
        #expect(archive.entries[0].response.body.mimeType == "text/<redacted>")
    }

    @Test("a compressed body is not recorded, because secrets in it can't be found; one that was unpacked is", arguments: [true, false])
    func compressed(isPacked: Bool) async throws {
        let secret = Data(#"{"access_token":"hunter2","name":"a"}"#.utf8)
        let packed = try #require(try HTTPBody(secret).gzipped().data)
        let mock = MockTransport()
        mock.on(.get, "/x") { _ in
            .data(isPacked ? packed : secret, contentType: "application/json", headers: ["Content-Encoding": "gzip"])
        }
        let recorder = RecordingTransport(wrapping: mock)
        _ = try await mocked(recorder).get("x").response()
        let content = try #require(recorder.archive.entries.first?.response.body)
        #expect((content.text == nil) == isPacked)
        #expect(content.text?.contains("hunter2") != true)
    }

    @Test("bytes that a transport unpacked are recorded; so are those without a coding of a request that keeps it, but no coded ones")
    func unpacked() async throws {
        let transport = FakeTransport { request, receive in
            let coding = request.url.query().map { ["Content-Encoding": $0] as HTTPHeaders } ?? [:]
            try await receive(.head(statusCode: 200, headers: coding))
            try await receive(.body(Data([0xFF, 0xFE])))
        }
        let recorder = RecordingTransport(wrapping: transport)
        for query in ["", "?gzip", "?own"] {
            for keepsCoding in [false, true] {
                var request = HTTPRequest(url: try #require(URL(string: "https://mock.test/\(query)")))
                request[KeepsContentCoding.self] = keepsCoding
                try await recorder.send(request) { _ in }
            }
        }
        #expect(recorder.archive.entries.map { $0.response.body.data?.count } == [2, 2, 2, nil, nil, nil])
    }

    @Test("a request that was not recorded fails and is not retried; so does one beyond the last response, if configured")
    func unmatched() async throws {
        let entry = HTTPArchive.Entry(
            request: HTTPArchive.Request(method: "GET", url: "https://MOCK.test:443?token=a#f"), response: HTTPArchive.Response(status: 200)
        )
        let replay = ReplayTransport(HTTPArchive(entries: [entry]), repeatsLast: false)
        let ness = mocked(replay)
        let builder = ness.get("https://mock.test/?token=b")
        #expect(replay.unusedEntries == [entry])
        #expect(try await builder.response().statusCode == 200)
        let error = await #expect(throws: UnmatchedRequest.self) {
            _ = try await builder.dataRequest(with: CounterRetryControl(maxRetryCount: 3)).value
        }
        #expect(error?.routes == ["GET https://MOCK.test:443?token=<redacted>#f (used up)"])
        for other in ["https://mock.test/x", "https://mock.test/?token=b&q=1", "http://mock.test/?token=b"] {
            await #expect(throws: UnmatchedRequest.self) { _ = try await ness.get(other).dataRequest().value }
        }
    }

    @Test("a failure is recorded, and replayed as the same failure", arguments: TransportError.Kind.allCases)
    func failures(kind: TransportError.Kind) async throws {
        let mock = MockTransport()
        mock.on(.get, "/x", replies: [.failure(TransportError(kind, "as it was"))])
        let recorder = RecordingTransport(wrapping: mock)
        let first = await #expect(throws: NessError.self) { _ = try await mocked(recorder).get("x").dataRequest().value }
        let replay = ReplayTransport(try HTTPArchive(data: recorder.archive.encoded()))
        let again = await #expect(throws: NessError.self) { _ = try await mocked(replay).get("x").dataRequest().value }
        #expect(first != nil && first?.kind == again?.kind)
    }

    @Test("an exchange that an error of the receiver ended is not recorded, because the transport did not fail")
    func refused() async throws {
        let mock = MockTransport(onUnmatched: .reply(.text("x")))
        let recorder = RecordingTransport(wrapping: mock)
        let request = HTTPRequest(url: try #require(URL(string: "https://mock.test/x")))
        await #expect(throws: TransportError.self) { try await recorder.send(request) { _ in throw TransportError.connectionLost } }
        #expect(mock.requests.count == 1 && recorder.archive.entries.isEmpty)
    }

    @Test("canceled exchanges are not recorded; times are by the clock, and the order is that of the starts")
    func order() async throws {
        let clock = ManualClock(advancesAutomatically: true)
        let mock = MockTransport(clock: clock)
        let reached = TestGate(), goOn = TestGate()
        mock.on(.get, "/slow") { _ in
            reached.open()
            await goOn.wait()
            return .text("slow")
        }
        mock.on(.get, "/quick") { _ in .text("quick").delayed(by: .milliseconds(250)) }
        let recorder = RecordingTransport(wrapping: mock, clock: clock, now: { Date(timeIntervalSince1970: 0) })
        let ness = mocked(recorder)
        let slow = ness.get("slow").dataRequest()
        await reached.wait()
        _ = try await ness.get("quick").dataRequest().value
        let dropped = ness.get("slow?2").dataRequest()
        dropped.drop()
        _ = try? await dropped.value
        goOn.open()
        _ = try await slow.value
        let entries = recorder.archive.entries
        #expect(entries.map(\.request.url) == ["https://mock.test/slow", "https://mock.test/quick"])
        #expect(entries[1].timings.wait == 250 && entries[1].time == 250)
        #expect(entries[1].startedDateTime == "1970-01-01T00:00:00.000Z")
    }

    @Test("an archive can be written and read; another file is an error")
    func files() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "ness-\(UUID()).har")
        defer { try? FileManager.default.removeItem(at: file) }
        let archive = HTTPArchive(entries: [
            HTTPArchive.Entry(
                request: HTTPArchive.Request(
                    method: "POST", url: "https://a.test/?q=%26", headers: [HTTPArchive.Pair(name: "Cookie", value: "<redacted>")],
                    body: HTTPArchive.Content(Data([0xFF]), mimeType: "image/x")),
                response: HTTPArchive.Response(status: 0, error: "timedOut"))
        ])
        try archive.write(to: file)
        #expect(try HTTPArchive(contentsOf: file) == archive)
        _ = try ReplayTransport(contentsOf: file)
        #expect(throws: DecodingError.self) { try HTTPArchive(data: Data(#"{"log":{}}"#.utf8)) }
        #expect(throws: (any Error).self) { try ReplayTransport(contentsOf: file.appending(path: "none")) }
        // All members that the format requires are present.
        let log = try #require(try JSONSerialization.jsonObject(with: archive.encoded()) as? [String: [String: Any]])["log"]
        #expect(log?["version"] as? String == "1.2")
        let creator = log?["creator"] as? [String: String]
        #expect(creator?["name"] != nil && creator?["version"] != nil)
        let entry = try #require((log?["entries"] as? [[String: Any]])?.first)
        #expect(Set(entry.keys) == ["startedDateTime", "time", "request", "response", "cache", "timings"])
        let request = entry["request"] as? [String: Any]
        let wanted: Set = ["method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"]
        #expect(wanted.isSubset(of: request?.keys.map { $0 } ?? []))
        #expect((request?["queryString"] as? [[String: String]]) == [["name": "q", "value": "&"]])
        let response = entry["response"] as? [String: Any]
        let answered: Set = [
            "status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL", "headersSize", "bodySize",
        ]
        #expect(answered.isSubset(of: response?.keys.map { $0 } ?? []))
    }

    @Test("a file that is too long, or without an end, is rejected before it is read") func endlessFile() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "ness-\(UUID().uuidString).har")
        defer { try? FileManager.default.removeItem(at: file) }
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        // A hole of 600 MiB takes no room on the disk.
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 600 << 20)
        try handle.close()
        for path in [file.path, "/dev/zero"] {
            #expect(throws: DecodingError.self) { try HTTPArchive(contentsOf: URL(fileURLWithPath: path)) }
        }
    }

    @Test("an archive that a browser wrote can be read, with its additional fields")
    func browser() async throws {
        let replay = ReplayTransport(try HTTPArchive(data: Data([0xEF, 0xBB, 0xBF]) + Data(browserFile.utf8)))
        let ness = mocked(replay)
        let page = try await ness.get("https://shop.test/").response()
        #expect(page.text == "<p>caf\u{E9}</p>" && page.headers["Content-Encoding"] == nil && page.headers.values(for: "x").count == 2)
        #expect(page.headers["content-length"] == "12")
        let image = try await ness.get("https://shop.test/a.gif").response()
        #expect(image.body == Data([0x47, 0x49, 0x46]))
        let order = ness.post("https://shop.test/order").set(form: ["name": "a b", "password": "other"])
        #expect(try await order.response().statusCode == 204)
        let blocked = await #expect(throws: NessError.self) { try await ness.get("https://ads.test/").response() }
        #expect(blocked?.kind == .connectionLost)
    }
}

private let browserFile = #"""
    {"log": {
      "version": "1.2", "creator": {"name": "WebInspector", "version": "537.36"},
      "pages": [{"startedDateTime": "2026-01-01T00:00:00.000Z", "id": "page_1", "title": "Shop", "pageTimings": {"onLoad": 12.5}}],
      "entries": [
        {"_initiator": {"type": "other"}, "_priority": "VeryHigh", "_resourceType": "document", "cache": {}, "connection": "443",
         "pageref": "page_1", "serverIPAddress": "192.0.2.1", "startedDateTime": "2026-01-01T00:00:00.123Z", "time": 45.6,
         "request": {"method": "GET", "url": "https://shop.test/", "httpVersion": "http/2.0",
           "headers": [{"name": ":authority", "value": "shop.test"}, {"name": "accept", "value": "*/*"}],
           "queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0},
         "response": {"status": 200, "statusText": "", "httpVersion": "http/2.0",
           "headers": [{"name": "content-encoding", "value": "br"}, {"name": "content-length", "value": "7", "comment": "on the wire"},
                       {"name": "X", "value": "1"}, {"name": "x", "value": "2"}],
           "cookies": [], "content": {"size": 12, "mimeType": "text/html", "text": "<p>café</p>", "compression": 6},
           "redirectURL": "", "headersSize": -1, "bodySize": -1, "_transferSize": 99, "_error": null},
         "timings": {"blocked": 1.2, "dns": -1, "ssl": -1, "connect": -1, "send": 0.1, "wait": 40, "receive": 4.3, "_blocked_queueing": 1}},
        {"startedDateTime": "2026-01-01T00:00:00.200Z", "time": 1, "cache": {},
         "request": {"method": "GET", "url": "https://shop.test/a.gif", "httpVersion": "http/2.0", "headers": [], "queryString": [],
           "cookies": [], "headersSize": -1, "bodySize": 0},
         "response": {"status": 200, "statusText": "OK", "httpVersion": "http/2.0", "headers": [], "cookies": [],
           "content": {"size": 3, "mimeType": "image/gif", "text": "R0lG", "encoding": "base64"}, "redirectURL": "", "headersSize": -1,
           "bodySize": 3}, "timings": {"send": 0, "wait": 1, "receive": 0}},
        {"startedDateTime": "2026-01-01T00:00:00.300Z", "time": 1, "cache": {},
         "request": {"method": "POST", "url": "https://shop.test/order", "httpVersion": "http/2.0", "headers": [], "queryString": [],
           "cookies": [], "headersSize": -1, "bodySize": 30,
           "postData": {"mimeType": "application/x-www-form-urlencoded",
             "params": [{"name": "name", "value": "a b"}, {"name": "password", "value": "mine", "_x": 1}]}},
         "response": {"status": 204, "statusText": "", "httpVersion": "http/2.0", "headers": [], "cookies": [],
           "content": {"size": 0, "mimeType": "x-unknown"}, "redirectURL": "", "headersSize": -1, "bodySize": 0}, "timings": {}},
        {"startedDateTime": "2026-01-01T00:00:00.400Z", "time": 0.5, "cache": {},
         "request": {"method": "GET", "url": "https://ads.test/", "httpVersion": "", "headers": [], "queryString": [], "cookies": [],
           "headersSize": -1, "bodySize": 0},
         "response": {"status": 0, "statusText": "", "httpVersion": "", "headers": [], "cookies": [],
           "content": {"size": 0, "mimeType": "x-unknown"}, "redirectURL": "", "headersSize": -1, "bodySize": -1,
           "_error": "net::ERR_BLOCKED_BY_CLIENT"}, "timings": {"blocked": 0.5, "send": 0, "wait": 0, "receive": 0}}
      ]}}
    """#
