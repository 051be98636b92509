import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The rules by which responses are stored and reused without a request (RFC 9111, 3, 4.2 and 5.2).
@Suite(.inTurn(.withoutSockets)) struct CacheFreshnessTests {
    @Test("a cache is off unless it is set") func off() async throws {
        let rig = CacheRig { $0.cache = nil }
        rig.count(["Cache-Control": "max-age=60"])
        #expect(try await rig.twice() == ["1", "2"])
    }

    @Test("a fresh response is used without a request, with its age, and is marked as cached; a stale one is not")
    func maxAge() async throws {
        let rig = CacheRig()
        rig.count(["Cache-Control": "max-age=60", "X-Kept": "yes"])
        let first = try await rig.get()
        #expect(first.source == .network)
        #expect(first.headers["Age"] == nil)
        rig.advance(59)
        let second = try await rig.get()
        #expect(second.source == .cache)
        #expect(second.text == "1")
        #expect(second.statusCode == 200)
        #expect(second.headers["age"] == "59")
        #expect(second.headers["x-kept"] == "yes")
        #expect(second.url.absoluteString == "https://mock.test/x")
        rig.advance(1)
        #expect(try await rig.get().text == "2")
        #expect(rig.asked == 2)
    }

    @Test(
        "the header fields decide if a response is still fresh after 30 seconds",
        arguments: [
            (["Cache-Control": "max-age=31"], true),
            (["Cache-Control": "max-age=30"], false),
            (["Cache-Control": "public, MAX-AGE = \"31\""], true),
            (["Cache-Control": "private=\"Set-Cookie, max-age=0\", max-age=31"], true),
            (["Cache-Control": "max-age=99999999999999999999"], true),
            (["Cache-Control": "max-age=31, max-age=5"], false),
            (["Cache-Control": "max-age=soon"], false),
            (["Cache-Control": "max-age=-1"], false),
            (["Cache-Control": "max-age"], false),
            (["Cache-Control": "=;,\"max-age=31"], false),
            (["Cache-Control": "no-store, max-age=31"], false),
            (["Cache-Control": "no-cache, max-age=31"], false),
            (["Cache-Control": "no-cache=\"Set-Cookie\", max-age=31"], false),
            (["Cache-Control": "s-maxage=31"], false),
            (["Cache-Control": "max-age=31", "Age": "1"], false),
            (["Cache-Control": "max-age=31", "Age": "1, 0"], false),
            (["Cache-Control": "max-age=31", "Date": "Sun, 06 Nov 1994 08:49:36 GMT"], false),
            (["Cache-Control": "max-age=31", "Date": "Sun, 06 Nov 1994 09:49:37 GMT"], true),
            (["Expires": "Sun, 06 Nov 1994 08:50:08 GMT"], true),
            (["Expires": "Sun, 06 Nov 1994 08:50:07 GMT"], false),
            (["Expires": "SUN, 06 nov 1994 08:50:08 gmt"], true),
            // An invalid date counts as passed.
            (["Expires": "Sun, 06 Nov 94 08:50:08 GMT"], false),
            (["Expires": "Sun 06 Nov 1994 08:50:08 GMT"], false),
            (["Expires": "Sun, 06 Nov 1994 08:50:08 GMT", "Date": "Sun, 06 Nov 1994 08:49:38 GMT"], false),
            (["Expires": "0"], false),
            (["Expires": "Sun, 06 Nov 1994 08:50:08 GMT", "Cache-Control": "max-age=0"], false),
            (["Expires": "0", "Cache-Control": "max-age=31"], true),
            // Content-Range has a meaning only in a 206 and a 416.
            (["Cache-Control": "max-age=31", "Content-Range": "bytes 0-0/1"], true),
            (["Cache-Control": "max-age=31, no-store, must-understand"], true),
            (["Cache-Control": "max-age=31", "Vary": "*"], false),
            ([:], false),
            // There are no heuristics: a cache with heuristics would take a tenth of the ten years as fresh.
            (["Last-Modified": "Mon, 06 Nov 1984 08:49:37 GMT"], false),
        ] as [(HTTPHeaders, Bool)])
    func fields(headers: HTTPHeaders, isFresh: Bool) async throws {
        let rig = CacheRig()
        rig.count(headers)
        #expect(try await rig.twice(after: 30) == (isFresh ? ["1", "1"] : ["1", "2"]))
    }

    @Test("the time until a response arrived counts as its age") func slowResponse() async throws {
        let rig = CacheRig()
        let go = TestGate()
        rig.mock.on(.get, "/x", after: go) { _ in .text("1", headers: ["Cache-Control": "max-age=31"]) }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        rig.advance(10)
        go.open()
        _ = try await promise.value
        rig.advance(20)
        #expect(try await rig.get().headers["age"] == "30")
        rig.advance(1)
        #expect(try await rig.get().source == .network)
    }

    @Test(
        "the request's own directives apply",
        arguments: [
            (["Cache-Control": "no-cache"], ["1", "2"]), (["Pragma": "no-cache"], ["1", "2"]),
            (["Pragma": "no-cache", "Cache-Control": "max-age=1000"], ["1", "1"]),
            (["Cache-Control": "no-store"], ["1", "2"]), (["Cache-Control": "max-age=29"], ["1", "2"]),
            (["Cache-Control": "max-age=30"], ["1", "1"]), (["Cache-Control": "max-age=0"], ["1", "2"]),
            (["Cache-Control": "min-fresh=29"], ["1", "1"]), (["Cache-Control": "min-fresh=30"], ["1", "2"]),
            (["Range": "bytes=0-"], ["1", "1"]), (["If-Match": "*"], ["1", "2"]),
        ] as [(HTTPHeaders, [String])])
    func requestDirectives(headers: HTTPHeaders, expected: [String]) async throws {
        let rig = CacheRig()
        rig.count(["Cache-Control": "max-age=60"])
        #expect(try await rig.twice("x", headers, after: 30) == expected)
    }

    @Test(
        "max-stale accepts a stale response, unless the server forbade it",
        arguments: [
            ("max-age=60", "max-stale=40", "1"), ("max-age=60", "max-stale=39", "2"), ("max-age=60", "max-stale", "1"),
            ("max-age=100", "max-stale=0", "1"), ("max-age=60, must-revalidate", "max-stale", "2"),
            ("max-age=60, no-cache", "max-stale", "2"),
        ])
    func maxStale(server: String, asked: String, expected: String) async throws {
        let rig = CacheRig()
        rig.count(["Cache-Control": server])
        _ = try await rig.get()
        rig.advance(100)
        let response = try await rig.get("x", ["Cache-Control": asked])
        #expect(response.text == expected && response.source == (expected == "1" ? .stale : .network))
    }

    @Test("only-if-cached never sends a request: without a usable stored response it fails with notCached") func onlyIfCached() async throws
    {
        let rig = CacheRig()
        rig.count(["Cache-Control": "max-age=60"])
        let only: HTTPHeaders = ["Cache-Control": "only-if-cached"]
        let nothing = await rig.ness.get("x").set(headers: only).dataRequest().nessError()
        #expect(nothing?.kind == .notCached && nothing?.context.attempts == 0 && nothing?.mayHaveReachedServer == false)
        #expect(rig.asked == 0)
        _ = try await rig.get()
        #expect(try await rig.get("x", only).text == "1")
        #expect(try await rig.get("x", ["Cache-Control": "only-if-cached", "Range": "bytes=0-"]).statusCode == 206)
        let ranged = rig.ness.get("x").set(headers: ["Cache-Control": "only-if-cached", "Range": "bytes=7-"])
        #expect(await ranged.dataRequest().nessError()?.kind == .notCached)
        rig.advance(60)
        #expect(await rig.ness.get("x").set(headers: only).dataRequest().nessError()?.kind == .notCached)
        #expect(rig.asked == 1)
    }

    @Test(
        "a response of any type is stored if it has a lifetime or a validator or may be used stale, and `no-store` does not forbid it",
        arguments: [
            ("application/json", ["ETag": "\"1\""], true),
            ("Text/JSON", ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Cache-Control": "public, s-maxage=60"], true),
            ("application/json", ["ETag": "\"1\"", "Cache-Control": "no-store"], false),
            ("application/json", [:], false),
            ("application/json", ["ETag": "\"1\"", "Cache-Control": "no-cache"], true),
            ("application/json", ["ETag": "\"1\"", "Cache-Control": "max-age=0"], true),
            ("application/json", ["ETag": "\"1\"", "Expires": "0"], true),
            ("application/json", ["Cache-Control": "max-age=1"], true), ("application/json", ["Cache-Control": "max-age=x"], false),
            ("application/json", ["Cache-Control": "stale-if-error=1"], true),
            ("application/json", ["Expires": "Sun, 06 Nov 1994 08:49:36 GMT"], false),
            ("text/html", ["ETag": "\"1\""], true),
            ("text/html", ["ETag": "\"1\"", "Cache-Control": "no-store"], false),
            ("text/html", [:], false),
        ] as [(String, HTTPHeaders, Bool)])
    func types(type: String, headers: HTTPHeaders, isStored: Bool) async throws {
        let rig = CacheRig()
        rig.mock.on(.get, "/x") { _ in .data(Data("1".utf8), contentType: type, headers: headers) }
        #expect(try await rig.get().text == "1")
        #expect((rig.cache.memorySize > 0) == isStored)
    }

    @Test(
        "these statuses are stored for the time that the server names",
        arguments: [200, 203, 204, 404, 405, 410, 414, 201, 299, 400, 451, 499, 500, 503, 599, 206, 302, 304, 401, 403, 407, 412, 428, 429])
    func statuses(status: Int) async throws {
        let successes: Set = [200, 203, 204], kept = successes.union([404, 405, 410, 414])
        let rig = CacheRig()
        rig.count(status: status, ["Cache-Control": "max-age=60"])
        _ = try await rig.twice()
        #expect(rig.asked == ([206, 302, 304, 401, 403, 407, 412, 428, 429].contains(status) ? 2 : 1))
        rig.count(at: "/understood", status: status, ["Cache-Control": "max-age=60, no-store, must-understand"])
        #expect(try await rig.get("understood").source == .network)
        #expect(try await rig.get("understood").source == (kept.contains(status) ? .cache : .network))
        // Without `no-cache`, an error is not stored for revalidation alone.
        for (control, stored) in [("public", successes), ("no-cache", kept)] {
            rig.count(at: "/\(control)", status: status, ["ETag": "\"1\"", "Cache-Control": control])
            let before = rig.cache.memorySize
            _ = try await rig.get(control)
            #expect((rig.cache.memorySize > before) == stored.contains(status))
        }
    }

    @Test("a stored failure is never used for the next attempt, and never displaces a response that may replace it")
    func storedFailures() async throws {
        let rig = CacheRig { $0.retryControl = CounterRetryControl(maxRetryCount: 2) }
        let failing: HTTPHeaders = ["Cache-Control": "max-age=60"]
        rig.mock.on(
            .get, "/x",
            replies: [.status(503, headers: failing), .status(503, headers: failing), .text("1", headers: ["Cache-Control": "max-age=60"])])
        #expect(try await rig.get().text == "1")
        #expect(try await rig.get().source == .cache)
        #expect(rig.asked == 3)
        // Nor for the outcome of the next attempt.
        rig.mock.on(.get, "/z", replies: [.status(503, headers: failing), .failure(.connectionLost)])
        await #expect(throws: NessError.self) { try await rig.get("z") }
        let good: HTTPHeaders = ["Cache-Control": "max-age=60, stale-if-error=1000"]
        rig.mock.on(.get, "/y", replies: [.text("1", headers: good), .status(503, headers: failing)])
        _ = try await rig.get("y")
        rig.advance(100)
        #expect(try await rig.get("y").text == "1")
        #expect(try await rig.get("y").text == "1")
    }

    @Test("only GET responses are stored, and a HEAD never gets a stored GET response") func methods() async throws {
        let rig = CacheRig()
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60"]
        for method in [HTTPMethod.head, .options, .post] { rig.mock.on(method, "/x") { _ in .status(200, headers: headers) } }
        rig.count(headers)
        for method in [HTTPMethod.head, .options, .post, .get, .head, .options] {
            _ = try await rig.ness.httpRequest(method, withUrl: "x").dataRequest().value
        }
        #expect(rig.asked == 6)
        #expect(try await rig.get().source == .cache)
    }

    @Test("a truncated response is not stored") func notWhole() async throws {
        let rig = CacheRig()
        rig.mock.on(.get, "/x") { _ in .text("1", headers: ["Cache-Control": "max-age=60", "Content-Length": "9"]) }
        #expect(await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()?.kind == .truncated)
        #expect(rig.cache.memorySize == 0)
    }

    @Test("equal URLs share a stored response, different URLs do not") func urls() async throws {
        let rig = CacheRig()
        rig.count(["Cache-Control": "max-age=60"])
        #expect(try await rig.get("x").text == "1")
        #expect(try await rig.get("HTTPS://MOCK.test:443/x#part").text == "1")
        #expect(try await rig.get("x?a=1").text == "2")
        #expect(try await rig.get("http://mock.test/x").text == "3")
        #expect(try await rig.get("https://other.test/x").text == "4")
    }

    @Test("a stored response is used only for requests with equal values of the fields that Vary names") func vary() async throws {
        let rig = CacheRig()
        rig.count(["Cache-Control": "max-age=60", "Vary": "Accept-Language, X-Kind"])
        let german: HTTPHeaders = ["Accept-Language": "de,en", "X-Other": "1"]
        #expect(try await rig.get("x", german).text == "1")
        #expect(try await rig.get("x", ["accept-language": "de, en", "X-Other": "2"]).text == "1")
        #expect(try await rig.get("x", ["Accept-Language": "en,de"]).text == "2")
        #expect(try await rig.get("x").text == "3")
        #expect(try await rig.get("x", ["X-Kind": "de,en"]).text == "4")
        #expect(try await rig.get("x", german).text == "1")
        #expect(try await rig.get("x").text == "3")
        // A request without User-Agent counts as one with the value that is sent for it.
        rig.count(at: "/agent", ["Cache-Control": "max-age=60", "Vary": "User-Agent"])
        for (agent, text) in [(nil, "1"), (HTTPHeaders.defaultUserAgent, "1"), ("other/1", "2")] {
            #expect(try await rig.get("agent", agent.map { ["User-Agent": $0] } ?? [:]).text == text)
        }
    }

    @Test("the least recently used response is removed first, and a response that is too large is not stored")
    func eviction() async throws {
        let rig = CacheRig(memoryLimit: 10_000)
        rig.mock.on(.get, "/:name") { request in
            let size = request.pathParameters["name"] == "large" ? 10_000 : 3_000
            return .data(Data(count: size), headers: ["Cache-Control": "max-age=60"])
        }
        for name in ["a", "b", "c", "a", "d", "large"] { _ = try await rig.get(name) }
        #expect(rig.cache.memorySize <= 10_000)
        #expect(rig.cache.memorySize > 9_000)
        var sources: [String: HTTPResponse.Source] = [:]
        for name in ["a", "c", "d", "b"] { sources[name] = try await rig.get(name).source }
        #expect(sources == ["a": .cache, "c": .cache, "d": .cache, "b": .network])
        await rig.cache.removeAll()
        #expect(rig.cache.memorySize == 0)
        #expect(try await rig.get("a").source == .network)
    }

    @Test("a retry after a validator rejected a response does not get that response from the cache")
    func rejected() async throws {
        struct Rejected: Error {}
        let rig = CacheRig()
        rig.count(["Cache-Control": "max-age=600"])
        let request = rig.ness.get("x").validate { if $0.text == "1" { throw Rejected() } }
        #expect(try await request.set(retry: CounterRetryControl(maxRetryCount: 1)).text() == "2")
    }

    @Test("a request that forbids the network is not retried, even if nothing is stored or the stored response is an error")
    func onlyIfCachedOnce() async throws {
        let control = AskedControl(BackoffRetryControl(maxRetryCount: 4))
        let rig = CacheRig { $0.retryControl = control }
        let request = rig.ness.get("x").set(headers: ["Cache-Control": "only-if-cached"])
        #expect(await request.dataRequest().nessError()?.kind == .notCached)
        rig.mock.on(.get, "/error") { _ in .status(503, headers: ["Cache-Control": "max-age=60"]) }
        let error = rig.ness.get("error")
        #expect(try await error.set(retry: CounterRetryControl(maxRetryCount: 0)).response().statusCode == 503)
        for age in [0, 100] {
            rig.advance(age)
            let stored = error.set(headers: ["Cache-Control": "only-if-cached, max-stale"])
            #expect(try await stored.response().source == (age == 0 ? .cache : .stale))
        }
        #expect(control.asked.entries.isEmpty && rig.asked == 1)
    }

    @Test("an absent field is another variant than an empty one")
    func absentVariant() async throws {
        let rig = CacheRig()
        rig.count(["Cache-Control": "max-age=60", "Vary": "X-Flag"])
        for (headers, text) in [([:], "1"), (["X-Flag": ""], "2"), ([:], "1"), (["X-Flag": ""], "2")] as [(HTTPHeaders, String)] {
            #expect(try await rig.get("x", headers).text == text)
        }
    }
}
