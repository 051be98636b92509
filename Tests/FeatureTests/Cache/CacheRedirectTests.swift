import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The cache and redirects. `CacheValidationTests.otherTag` has the rest.
@Suite("Cache: redirects", .inTurn(.withoutSockets)) struct CacheRedirectTests {
    private static let fresh: HTTPHeaders = ["Cache-Control": "max-age=60"]

    private static func redirect(to location: String, _ status: Int = 302) -> Reply {
        .status(status, headers: ["Location": location, "Cache-Control": "max-age=60"])
    }

    @Test(
        "a redirect is fetched each time, even a permanent one with a lifetime, followed or not", arguments: [301, 302, 308], [true, false])
    func permanent(status: Int, isFollowed: Bool) async throws {
        let rig = CacheRig { if !isFollowed { $0.redirects = .stop } }
        rig.mock.on(.get, "/old") { _ in Self.redirect(to: "/new", status) }
        rig.count(at: "/new", Self.fresh)
        #expect(try await rig.twice("old") == (isFollowed ? ["1", "2"] : ["", ""]))
        #expect(rig.mock.requests.map(\.url.path) == (isFollowed ? ["/old", "/new", "/old", "/new"] : ["/old", "/old"]))
        #expect(rig.cache.memorySize == 0)
    }

    @Test("a redirect fetches its target, although the target's response is stored") func storedTarget() async throws {
        let rig = CacheRig()
        rig.mock.on(.get, "/old") { _ in Self.redirect(to: "/new") }
        rig.count(at: "/new", Self.fresh)
        #expect(try await rig.get("new").text == "1")
        #expect(try await rig.get("old").text == "2")
        // The stored response stays.
        let stored = try await rig.get("new")
        #expect(stored.text == "1" && stored.source == .cache)
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
