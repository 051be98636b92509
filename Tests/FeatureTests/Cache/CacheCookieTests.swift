import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The cache beside cookies: which of them tell users apart. See ruling C35.
@Suite("Cache: cookies", .inTurn(.withoutSockets)) struct CacheCookieTests {
    private static let fresh: HTTPHeaders = ["Cache-Control": "max-age=60"]

    private static func rig(_ users: HTTPCache.UserCookies?, _ jar: CookieJar) -> Rig {
        let cache = users.map { HTTPCache(memoryLimit: 1 << 20, userCookies: $0) } ?? HTTPCache(memoryLimit: 1 << 20)
        return Rig(advances: false) {
            $0.cache = cache
            $0.cookies = jar
        }
    }

    private static func set(_ cookies: [String: String], in jar: CookieJar) throws {
        for (name, value) in cookies.sorted(by: { $0.key < $1.key }) {
            jar.insert(try #require(Cookie(name: name, value: value, domain: "mock.test")))
        }
    }

    @Test(
        "the cookies of a jar separate stored responses only if the cache says so",
        arguments: [
            // The default, then with a changed token, then with a changed session, then with both as before.
            (nil, [1, 1, 1]), (.setByRequest, [1, 1, 1]), (HTTPCache.UserCookies.none, [1, 1, 1]), (.named(["session"]), [1, 2, 1]),
            (.named(["other"]), [1, 1, 1]), (.all, [2, 3, 1]),
        ] as [(HTTPCache.UserCookies?, [Int])])
    func jar(users: HTTPCache.UserCookies?, numbers: [Int]) async throws {
        let jar = CookieJar(), rig = Self.rig(users, jar), tally = Tally()
        rig.mock.on(.get, "/x") { _ in .text("\(tally.enter() + 1)", headers: Self.fresh) }
        var texts: [String] = []
        for (token, session) in [("1", "a"), ("2", "a"), ("2", "b"), ("1", "a")] {
            try Self.set(["token": token, "session": session], in: jar)
            texts.append(try await rig.ness.get("x").text())
        }
        #expect(texts == ["1"] + numbers.map(String.init))
    }

    @Test(
        "cookies that the request sets itself are its credential, beside those of a jar",
        arguments: [
            (nil, ["1", "2", "1"]), (HTTPCache.UserCookies.none, ["1", "1", "1"]), (.named(["user"]), ["1", "2", "1"]),
            (.all, ["1", "2", "3"]),
        ] as [(HTTPCache.UserCookies?, [String])])
    func setByRequest(users: HTTPCache.UserCookies?, expected: [String]) async throws {
        let jar = CookieJar(), rig = Self.rig(users, jar), tally = Tally()
        rig.mock.on(.get, "/x") { _ in .text("\(tally.enter() + 1)", headers: Self.fresh) }
        var texts: [String] = []
        for (user, token) in [("alice", "1"), ("bob", "1"), ("alice", "2")] {
            try Self.set(["token": token], in: jar)
            texts.append(try await rig.ness.get("x").set(headers: ["Cookie": "user=\(user)"]).text())
        }
        #expect(texts == expected)
    }

    @Test("with a userIdentifier, no cookie counts unless Vary or the cache names it") func namedUser() async throws {
        let jar = CookieJar(), cache = HTTPCache(memoryLimit: 1 << 20), tally = Tally()
        let rig = Rig(advances: false) {
            $0.cache = cache
            $0.cookies = jar
            $0.authentication = BearerAuthentication(token: "t", userIdentifier: "alice")
        }
        rig.mock.on(.get, "/x") { _ in .text("\(tally.enter() + 1)", headers: Self.fresh) }
        #expect(try await rig.ness.get("x").set(headers: ["Cookie": "a=1"]).text() == "1")
        #expect(try await rig.ness.get("x").set(headers: ["Cookie": "a=2"]).text() == "1")
    }

    @Test("with Vary: Cookie, a response is used for equal cookies alone, and named to the server for others") func vary() async throws {
        let jar = CookieJar(), rig = Self.rig(nil, jar)
        rig.mock.on(.get, "/x") { request in
            let session = request.headers["Cookie"]?.components(separatedBy: "session=").last?.prefix(1) ?? ""
            let tag = "\"\(session)\"", headers = Self.fresh.merging(["Vary": "Cookie", "ETag": tag])
            return request.headers["If-None-Match"]?.contains(tag) == true
                ? .status(304, headers: headers) : .text("\(session)", headers: headers)
        }
        var seen: [String] = []
        for (token, session) in [("1", "a"), ("1", "b"), ("1", "a"), ("2", "a"), ("3", "b")] {
            try Self.set(["token": token, "session": session], in: jar)
            let response = try await rig.ness.get("x").response()
            seen.append("\(response.text) \(response.source)")
        }
        #expect(seen == ["a network", "b network", "a cache", "a revalidated", "b revalidated"])
    }
}
