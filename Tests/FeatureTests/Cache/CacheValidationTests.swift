import Foundation
import NessHTTP
import NessLock
import TestSupport
import Testing

@testable import NessTesting

/// Asking whether what is stored is still good (RFC 9111, 4.3), what stale responses are for (RFC 5861), and forgetting (4.4).
@Suite(.inTurn) struct CacheValidationTests {
    @Test("a 304 is never visible: the caller sees 200, the stored body and the newer header fields") func notModified() async throws {
        let rig = CacheRig()
        let first: HTTPHeaders = [
            "ETag": "\"1\"", "Cache-Control": "max-age=60", "Content-Type": "text/plain", "X-Old": "a", "X-New": "a", "Age": "5",
        ]
        let newer: HTTPHeaders = [
            "ETag": "W/\"1\"", "Cache-Control": "max-age=120", "Content-Type": "image/png", "Content-Length": "99", "X-New": "b",
            "Connection": "X-Hop", "X-Hop": "1",
        ]
        rig.mock.on(.get, "/x", replies: [.text("body", headers: first), .status(304, headers: newer), .text("other")])
        _ = try await rig.get()
        rig.advance(60)
        let response = try await rig.get()
        #expect(response.source == .revalidated)
        #expect(response.statusCode == 200)
        #expect(response.text == "body")
        #expect(response.headers["X-Old"] == "a")
        #expect(response.headers["X-New"] == "b")
        #expect(response.headers["Content-Type"] == "text/plain")
        #expect(response.headers["Content-Length"] != "99")
        #expect(response.headers["X-Hop"] == nil)
        #expect(response.headers["Age"] == nil)
        #expect(rig.mock.requests.last?.headers["If-None-Match"] == "\"1\"")
        // It is fresh again, by what the 304 said.
        rig.advance(119)
        let again = try await rig.get()
        #expect(again.source == .cache)
        #expect(again.headers["X-New"] == "b")
        #expect(again.headers["Age"] == "119")
        rig.advance(1)
        #expect(try await rig.get().text == "other")
        #expect(rig.asked == 3)
    }

    @Test("no-cache revalidates each time; Last-Modified is a condition; a new response replaces the stored one") func noCache()
        async throws
    {
        let rig = CacheRig()
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let headers: HTTPHeaders = ["Last-Modified": date, "Cache-Control": "no-cache"]
        rig.mock.on(
            .get, "/x", replies: [.text("1", headers: headers), .status(304), .text("2", headers: headers), .status(304), .status(304)])
        var seen: [String] = []
        for _ in 1...5 { seen.append(try await rig.get().text) }
        #expect(seen == ["1", "1", "2", "2", "2"])
        #expect(rig.mock.requests.map { $0.headers["If-Modified-Since"] } == [nil, date, date, date, date])
    }

    @Test("a 304 to the caller's own condition is passed on if the stored response may not be used") func ownCondition() async throws {
        let rig = CacheRig()
        rig.mock.on(.get, "/x") { request in
            request.headers["If-None-Match"] == "\"mine\"" || request.headers.contains("If-Modified-Since")
                ? .status(304) : .text("1", headers: ["ETag": "\"1\"", "Cache-Control": "max-age=60"])
        }
        #expect(try await rig.get().text == "1")
        for (name, value) in [("If-None-Match", "\"mine\""), ("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT")] {
            let response = try await rig.get("x", [name: value, "Cache-Control": "no-cache"])
            #expect(response.statusCode == 304)
            #expect(response.source == .network)
            #expect(rig.mock.requests.last?.headers.count { $0.name.lowercased().hasPrefix("if-") } == 1)
        }
        #expect(try await rig.get().source == .cache)
    }

    @Test("a 304 about another response is not used") func otherTag() async throws {
        let rig = CacheRig()
        let headers: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "no-cache"]
        rig.mock.on(.get, "/x", replies: [.text("1", headers: headers), .status(304, headers: ["ETag": "\"2\""]), .text("2")])
        #expect(try await rig.twice() == ["1", "2"])
        #expect(rig.mock.requests.map { $0.headers["If-None-Match"] } == [nil, "\"1\"", nil])
        // So is one of a redirect's target, whose tags are its own.
        rig.mock.on(.get, "/y", replies: [.text("y", headers: headers), .status(302, headers: ["Location": "/z"])])
        rig.mock.on(.get, "/z") { $0.headers.contains("If-None-Match") ? .status(304) : .text("z", headers: headers) }
        #expect(try await rig.twice("y") == ["y", "z"])
    }

    @Test("after a 304 that forbids storing, the stored response is used for the last time") func notModifiedNoStore() async throws {
        let rig = CacheRig()
        let headers: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "no-cache"]
        rig.mock.on(.get, "/x", replies: [.text("1", headers: headers), .status(304, headers: ["Cache-Control": "no-store"])])
        #expect(try await rig.twice() == ["1", "1"])
        #expect(rig.cache.memorySize == 0)
    }

    @Test("a response that must not be stored removes the stored one; a failure does not") func replacing() async throws {
        let rig = CacheRig()
        let fresh: HTTPHeaders = ["Cache-Control": "max-age=60"]
        rig.mock.on(
            .get, "/x",
            replies: [
                .text("1", headers: fresh), .status(503), .status(403), .text("2", headers: ["Cache-Control": "no-store"]), .text("3"),
            ])
        let anew: HTTPHeaders = ["Cache-Control": "no-cache"]
        _ = try await rig.get()
        #expect(try await rig.get("x", anew).statusCode == 503)
        #expect(try await rig.get("x", anew).statusCode == 403)
        #expect(try await rig.get().text == "1")
        #expect(try await rig.get("x", anew).text == "2")
        #expect(try await rig.get().text == "3")
    }

    @Test("a compressed response is stored; on Linux not if the request itself asked for it, because URLSession would not notice a cut")
    func compressed() async throws {
        let answer: TestServer.Handler = { request in
            let takesGzip = request.headers["Accept-Encoding"]?.contains("gzip") == true
            let headers: HTTPHeaders = ["Cache-Control": "max-age=1000", "Vary": "Accept-Encoding"]
            guard takesGzip else { return .text("hello", headers: headers) }
            return .data(CompressedBodies.gzipHello, headers: headers.merging(["Content-Encoding": "gzip"]))
        }
        try await withServer(answer, configure: { $0.cache = HTTPCache(memoryLimit: 1 << 20) }) { server, ness in
            var sources: [HTTPResponse.Source] = []
            for headers in [[:], [:], ["Accept-Encoding": "gzip"], ["Accept-Encoding": "gzip"]] as [HTTPHeaders] {
                let message = try await ness.httpRequest(withUrl: "a").set(headers: headers).dataRequest().value.message
                #expect(message.text == "hello")
                sources.append(message.source)
            }
            #if os(Linux)
            #expect(sources == [.network, .cache, .network, .network])
            #else
            #expect(sources == [.network, .cache, .network, .cache])
            #endif
            let isCompressed = !Engine.isURLSessionOnLinux
            #expect((server.requests.first?.headers["Accept-Encoding"]?.contains("gzip") == true) == isCompressed)
        }
    }

    // MARK: RFC 5861

    @Test("stale-while-revalidate returns the stored response immediately, and fetches a newer one once for any number of callers")
    func whileRevalidating() async throws {
        // What is got in the background is got once, also where nothing is merged.
        let rig = CacheRig { $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately }
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60, stale-while-revalidate=30"]
        let tally = Tally(), go = TestGate()
        rig.mock.on(.get, "/x") { _ in
            let number = tally.enter() + 1
            if number == 2 { await go.wait() }
            return .text("\(number)", headers: headers)
        }
        _ = try await rig.get()
        rig.advance(89)
        for _ in 1...5 {
            let response = try await rig.get()
            #expect(response.text == "1")
            #expect(response.source == .stale)
            #expect(response.headers["Age"] == "89")
        }
        await tally.wait(for: 2)
        // Everyone who comes meanwhile and can't take a stale one shares the exchange.
        let now = rig.ness.httpRequest(withUrl: "x").dataRequest()
        #expect(try await now.value.message.text == "1")
        go.open()
        await rig.stored.wait(for: 2)
        #expect(tally.total == 2)
        rig.advance(90)
        #expect(try await rig.get().text == "3")
    }

    @Test(
        "a request with its own limits gets no stale response while revalidating",
        arguments: [("", "no-cache"), ("", "max-age=60"), ("", "min-fresh=1"), (", must-revalidate", "")])
    func whileRevalidatingLimits(server: String, asked: String) async throws {
        let rig = CacheRig()
        rig.count(["Cache-Control": "max-age=60, stale-while-revalidate=30" + server])
        _ = try await rig.get()
        rig.advance(70)
        #expect(try await rig.get("x", asked.isEmpty ? [:] : ["Cache-Control": asked]).text == "2")
    }

    @Test("a reset and the deadline end a background revalidation, and nothing hangs", arguments: [true, false])
    func backgroundEnds(byReset: Bool) async throws {
        let rig = CacheRig()
        let began = Tally(), ended = Tally()
        rig.mock.on(.get, "/x") { _ in
            guard began.enter() > 0 else { return .text("1", headers: ["Cache-Control": "max-age=60, stale-while-revalidate=30"]) }
            defer { ended.enter() }
            // Until it is canceled.
            await TestGate().wait()
            return .status(500)
        }
        let request = rig.ness.httpRequest(withUrl: "x").set(timeout: .seconds(1000), deadline: .seconds(20))
        _ = try await request.dataRequest().value
        rig.advance(70)
        #expect(try await request.dataRequest().value.message.source == .stale)
        await began.wait(for: 2)
        if byReset {
            await rig.ness.reset()
            #expect(rig.cache.memorySize == 0)
        } else {
            await rig.rig.clock.waitForSleepers(2)
            rig.advance(20)
        }
        await ended.wait(for: 1)
    }

    @Test(
        "stale-if-error covers a server that fails or cannot be reached, but no rejected request and no failed trust",
        arguments: [
            ("max-age=60, stale-if-error=100", "", 159, Reply.status(502), "stale 200"),
            ("max-age=60, stale-if-error=100", "", 160, .status(502), "502"),
            ("max-age=60, stale-if-error=100", "", 159, .failure(.cannotConnect), "stale 200"),
            ("max-age=60, stale-if-error=100", "", 160, .failure(.cannotConnect), "cannotConnect"),
            ("max-age=60, stale-if-error=100", "", 70, .status(404), "404"),
            ("max-age=60, stale-if-error=100", "", 70, .failure(.tls), "tls"),
            ("max-age=60, stale-if-error=100, must-revalidate", "", 70, .status(500), "500"),
            ("max-age=60, stale-if-error=100", "no-cache", 70, .status(500), "500"),
            ("max-age=60", "stale-if-error=100", 70, .status(500), "stale 200"),
            ("max-age=60, stale-if-error=100", "max-age=70", 70, .status(500), "stale 200"),
            ("max-age=60, stale-if-error=100", "max-age=69", 70, .status(500), "500"),
            ("max-age=0, stale-if-error=100", "", 0, .status(500), "stale 200"),
            ("max-age=60", "", 60, .status(500), "500"),
            ("max-age=60", "", 70, .status(500), "500"),
        ] as [(String, String, Int, Reply, String)])
    func ifError(server: String, asked: String, seconds: Int, reply: Reply, expected: String) async throws {
        let rig = CacheRig()
        rig.mock.on(.get, "/x", replies: [.text("1", headers: ["Cache-Control": server, "ETag": "\"1\""]), reply])
        _ = try await rig.get()
        rig.advance(seconds)
        do {
            let response = try await rig.get("x", asked.isEmpty ? [:] : ["Cache-Control": asked])
            #expect((response.source == .stale ? "stale " : "") + "\(response.statusCode)" == expected)
            if response.source == .stale { #expect(response.text == "1" && response.headers["Age"] == "\(seconds)") }
        } catch {
            #expect((error as? NessError)?.kind.rawValue == expected)
        }
        #expect(rig.asked == 2)
    }

    // MARK: forgetting

    @Test(
        "after a successful change, its URL and those it names at the same origin are fetched again",
        arguments: [
            (200, true), (204, true), (303, true), (400, false), (404, false), (500, false),
        ])
    func invalidation(status: Int, isForgotten: Bool) async throws {
        for method in [HTTPMethod.post, .put, .patch, .delete, .custom("PURGE")] {
            let rig = CacheRig { $0.redirects = .stop }
            let fresh: HTTPHeaders = ["Cache-Control": "max-age=60"]
            for path in ["/x", "/named", "/content", "/other"] { rig.count(at: path, fresh) }
            rig.mock.on(method, "/x") { _ in
                .status(status, headers: ["Location": "named", "Content-Location": "https://mock.test/content"])
            }
            for path in ["x", "named", "content", "other"] { _ = try await rig.get(path) }
            let change = try await rig.ness.httpRequest(method, withUrl: "x").dataRequest().value.message
            #expect(change.statusCode == status)
            var texts: [String] = []
            for path in ["x", "named", "content", "other"] { texts.append(try await rig.get(path).text) }
            #expect(texts == (isForgotten ? ["2", "2", "2", "1"] : ["1", "1", "1", "1"]))
        }
    }

    @Test("a change removes no response of another origin; a change without a response counts as made")
    func invalidationOrigin() async throws {
        let rig = CacheRig()
        rig.count(at: "https://mock.test/x", ["Cache-Control": "max-age=60"])
        rig.mock.on(.post, "https://evil.test/") { _ in .status(201, headers: ["Location": "https://mock.test/x"]) }
        rig.mock.on(.put, "/x") { _ in .failure(TransportError(.connectionLost, "gone")) }
        _ = try await rig.get()
        _ = try await rig.ness.httpRequest(.post, withUrl: "https://evil.test/").dataRequest().value
        #expect(try await rig.get().text == "1")
        #expect(await rig.ness.httpRequest(.put, withUrl: "x").dataRequest().nessError()?.kind == .connectionLost)
        #expect(try await rig.get().text == "2")
    }

    @Test(
        "a response that was requested before a change, or before everything was removed, is not stored after it, in memory or on disk",
        arguments: [1 << 20, 0], [true, false])
    func overtaken(memoryLimit: Int, byRemoval: Bool) async throws {
        try await withFolder { folder in
            let rig = CacheRig(memoryLimit: memoryLimit, folder: (folder, 1 << 20))
            let go = TestGate()
            rig.mock.on(.get, "/x", after: go) { .text("\($0.number)", headers: ["Cache-Control": "max-age=60"]) }
            rig.mock.on(.put, "/x") { _ in .status(204) }
            let old = rig.ness.httpRequest(withUrl: "x").dataRequest()
            await rig.mock.waitUntil { $0.requests.count == 1 }
            if byRemoval { await rig.cache.removeAll() } else { _ = try await rig.ness.put("x").response() }
            go.open()
            #expect(try await old.value.message.text == "1")
            #expect(try await rig.get().source == .network)
            #expect(try await rig.get().source == .cache)
        }
    }

    @Test(
        "a response that a request of another URL, method or variant got under one duplicate identifier is not stored for this one",
        arguments: [(HTTPMethod.get, "a", "de"), (.head, "x", "de"), (.get, "x", "en")])
    func sharedIdentifier(method: HTTPMethod, path: String, language: String) async throws {
        let handler = CountingHandler(), wire = ReceiveGates(), go = TestGate(), arrived = TestGate()
        let rig = CacheRig {
            $0.duplicatedHandler = handler
            wire.install(in: &$0)
        }
        let headers: HTTPHeaders = ["Cache-Control": "max-age=600", "Vary": "Accept-Language"]
        rig.mock.on(nil, "/:name") { request in
            if request.number > 1 { return .text("own", headers: headers) }
            arrived.open()
            await go.wait()
            return .text("shared", headers: headers)
        }
        func builder(_ method: HTTPMethod, _ path: String, _ language: String) -> RequestBuilder {
            rig.ness.httpRequest(method, withUrl: path).set(header: "Accept-Language", to: language).set(duplicateIdentifier: "i")
        }
        let first = builder(method, path, language).dataRequest()
        await arrived.wait()
        let joined = builder(.get, "x", "de").dataRequest()
        await wire.changed.wait { joined.status.text.hasPrefix("running") }
        go.open()
        _ = try await (first.value, joined.value)
        #expect(handler.tally.total == 1)
        #expect(try await rig.get("x", ["Accept-Language": "de"]).text == "own")
    }
}
