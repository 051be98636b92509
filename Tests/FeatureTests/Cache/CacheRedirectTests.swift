import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// The cache and redirects: the redirect itself always comes from the server, its target may come from the cache.
@Suite("Cache: redirects", .inTurn(.withoutSockets)) struct CacheRedirectTests {
    private static let fresh: HTTPHeaders = ["Cache-Control": "max-age=60"]

    private static func redirect(to location: String, _ status: Int = 302) -> Reply {
        .status(status, headers: ["Location": location, "Cache-Control": "max-age=60"])
    }

    @Test(
        "a redirect is fetched each time, even a permanent one with a lifetime, followed or not; its target is stored for its own URL",
        arguments: [301, 302, 308], [true, false])
    func permanent(status: Int, isFollowed: Bool) async throws {
        let rig = CacheRig { if !isFollowed { $0.redirects = .stop } }
        rig.mock.on(.get, "/old") { _ in Self.redirect(to: "/new", status) }
        rig.count(at: "/new", Self.fresh)
        #expect(try await rig.twice("old") == (isFollowed ? ["1", "1"] : ["", ""]))
        #expect(rig.mock.requests.map(\.url.path) == (isFollowed ? ["/old", "/new", "/old"] : ["/old", "/old"]))
        guard isFollowed else { return #expect(rig.cache.memorySize == 0) }
        let last = try await rig.get("old")
        #expect(last.source == .cache && last.url.path == "/new" && last.history.map(\.statusCode) == [status])
        #expect(try await rig.get("new").source == .cache)
    }

    @Test("a target is validated with its own entity tag, which no other URL of the chain receives")
    func validated() async throws {
        let rig = CacheRig()
        rig.mock.on(.get, "/a") { _ in .status(302, headers: ["Location": "/b"]) }
        rig.mock.on(.get, "/b") { _ in .status(307, headers: ["Location": "https://other.test/c"]) }
        rig.mock.on(.get, "/c") { $0.headers["If-None-Match"] == "\"c\"" ? .status(304) : .text("c", headers: ["ETag": "\"c\""]) }
        #expect(try await rig.twice("a") == ["c", "c"])
        #expect(rig.mock.requests.map { $0.headers["If-None-Match"] } == [nil, nil, nil, nil, nil, "\"c\""])
        let last = try await rig.get("a")
        #expect(last.source == .revalidated && last.history.count == 2)
    }

    @Test("a URL that redirects since it was stored is validated with its entity tag; the target does not receive it")
    func nowRedirected() async throws {
        let rig = CacheRig()
        rig.mock.on(.get, "/x", replies: [.text("x", headers: ["ETag": "\"x\""]), .status(302, headers: ["Location": "/y"])])
        rig.mock.on(.get, "/y") { $0.headers.contains("If-None-Match") ? .status(304) : .text("y") }
        #expect(try await rig.twice() == ["x", "y"])
        #expect(rig.mock.requests.map { $0.headers["If-None-Match"] } == [nil, "\"x\"", nil])
    }

    @Test("the caller's own conditions reach the target of a redirect") func ownConditions() async throws {
        let rig = CacheRig()
        rig.mock.on(.get, "/x") { _ in Self.redirect(to: "/y") }
        rig.mock.on(.get, "/y") { $0.headers["If-None-Match"] == "\"1\"" ? .status(304) : .text("y") }
        #expect(try await rig.get("x", ["If-None-Match": "\"1\""]).statusCode == 304)
        #expect(rig.mock.requests.map { $0.headers["If-None-Match"] } == ["\"1\"", "\"1\""])
    }

    @Test("a write that redirects gets its target from the server, although the cache has a fresh response", arguments: [303, 302])
    func afterWrite(status: Int) async throws {
        let rig = CacheRig()
        rig.count(at: "/list", Self.fresh)
        rig.mock.on(.post, "/items") { _ in .status(status, headers: ["Location": "/list"]) }
        #expect(try await rig.get("list").text == "1")
        #expect(try await rig.ness.post("items").response().text == "2")
        #expect(try await rig.get("list").text == "3")
    }

    @Test("a signed-in user's response behind a redirect to another origin belongs to no user")
    func otherOrigin() async throws {
        let rig = CacheRig()
        rig.mock.on(.get, "/x") { _ in Self.redirect(to: "https://other.test/y") }
        rig.count(at: "/y", Self.fresh)
        #expect(try await rig.get("x", ["Authorization": "alice"]).text == "1")
        #expect(try await rig.get("x", ["Authorization": "bob"]).text == "1")
        #expect(try await rig.get("https://other.test/y").text == "1")
        #expect(try await rig.get("https://other.test/y", ["Authorization": "alice"]).text == "2")
    }

    @Test(
        "a request that a redirect makes obeys the caller's directives", arguments: [("no-cache", ["1", "2"]), ("no-store", ["1", "2"])])
    func directives(directive: String, texts: [String]) async throws {
        let rig = CacheRig()
        rig.mock.on(.get, "/x") { _ in Self.redirect(to: "/y") }
        rig.count(at: "/y", Self.fresh)
        #expect(try await rig.get("x").text == texts[0])
        #expect(try await rig.get("x", ["Cache-Control": directive]).text == texts[1])
    }

    @Test("behind a redirect, an expired response is used while a newer one is fetched, and in place of an error")
    func stale() async throws {
        let rig = CacheRig(), isDown = Lock(false)
        rig.mock.on(.get, "/x") { _ in .status(302, headers: ["Location": "/y"]) }
        let tally = Tally()
        rig.mock.on(.get, "/y") { _ in
            isDown.withLock { $0 }
                ? .status(503)
                : .text("\(tally.enter())", headers: ["Cache-Control": "max-age=60, stale-while-revalidate=60, stale-if-error=600"])
        }
        #expect(try await rig.get("x").text == "0")
        rig.advance(90)
        let old = try await rig.get("x")
        #expect(old.text == "0" && old.source == .stale)
        await rig.stored.wait(for: 2)
        #expect(try await rig.get("x").text == "1")
        isDown.withLock { $0 = true }
        rig.advance(300)
        let other = try await rig.get("x")
        #expect(other.text == "1" && other.source == .stale)
    }

    @Test("cookies that a response set are stored when it arrives, not when it is used again") func cookies() async throws {
        let jar = CookieJar(), rig = CacheRig { $0.cookies = jar }
        rig.mock.on(.get, "/x") { _ in Self.redirect(to: "/y") }
        rig.mock.on(.get, "/y") { _ in .text("y", headers: Self.fresh.merging(["Set-Cookie": "a=1"])) }
        _ = try await rig.get("x")
        #expect(jar.cookies.map(\.value) == ["1"])
        jar.removeAll()
        #expect(try await rig.get("x").source == .cache)
        #expect(jar.cookies.isEmpty)
    }

    @Test("a response to which redirects led back is stored for the URL that was requested") func cycle() async throws {
        let rig = CacheRig()
        rig.mock.on(.get, "/x", replies: [Self.redirect(to: "/login"), .text("1", headers: Self.fresh)])
        rig.mock.on(.get, "/login") { _ in Self.redirect(to: "/x#top") }
        #expect(try await rig.get("x").text == "1")
        #expect(try await rig.get("x#other").source == .cache)
        #expect(rig.asked == 3)
    }
}
