import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Requests with a Range or with conditions of their own (RFC 9111, 4.3.2; RFC 9110, 13 and 14), variants, and fields that are not stored.
@Suite(.inTurn(.withoutSockets)) struct CacheConditionTests {
    private static let date = "Sun, 06 Nov 1994 08:49:36 GMT"
    private static let fresh: HTTPHeaders = [
        "Cache-Control": "max-age=60", "ETag": "\"1\"", "Last-Modified": date, "Content-Type": "text/plain", "X-Kept": "1",
    ]

    @Test(
        "a fresh response satisfies a caller's own conditions and one range as a server would; other requests reach the server",
        arguments: [
            (["If-None-Match": "\"1\""], 304, "", false),
            (["If-None-Match": "\"0\", W/\"1\""], 304, "", false),
            (["If-None-Match": "*"], 304, "", false),
            (["If-None-Match": "\"2\""], 200, "0123456789", false),
            (["If-None-Match": "\"2\"", "If-Modified-Since": date], 200, "0123456789", false),
            (["If-Modified-Since": date], 304, "", false),
            (["If-Modified-Since": "Sun, 06 Nov 1994 08:49:35 GMT"], 200, "0123456789", false),
            (["If-Modified-Since": "yesterday"], 200, "0123456789", false),
            (["Range": "bytes=2-4"], 206, "234", false),
            (["Range": "BYTES=8-"], 206, "89", false),
            (["Range": "bytes=-3"], 206, "789", false),
            (["Range": "bytes=-99"], 206, "0123456789", false),
            (["Range": "bytes=9-99"], 206, "9", false),
            (["Range": "bytes=0-1", "If-Range": "\"1\""], 206, "01", false),
            (["Range": "bytes=0-1", "If-Range": date], 206, "01", false),
            (["Range": "bytes=0-1", "If-Range": "\"2\""], 200, "0123456789", false),
            (["Range": "bytes=0-1", "If-Range": "W/\"1\""], 200, "0123456789", false),
            (["Range": "bytes=0-1", "If-None-Match": "\"1\""], 304, "", false),
            // The server may answer these as it likes.
            (["Range": "bytes=0-1,3-4"], 200, "asked", true),
            (["Range": "bytes=10-"], 200, "asked", true),
            (["Range": "bytes=4-2"], 200, "asked", true),
            (["Range": "bytes=-0"], 200, "asked", true),
            (["Range": "bytes=99999999999999999999-"], 200, "asked", true),
            (["Range": "bytes=2-4-"], 200, "asked", true),
            (["Range": "bytes=0-1="], 200, "asked", true),
            (["Range": "lines=0-1"], 200, "asked", true),
            (["If-Match": "\"1\""], 200, "asked", true),
            (["If-Unmodified-Since": date], 200, "asked", true),
            (["If-None-Match": "\"1\"", "Cache-Control": "no-cache"], 200, "asked", true),
        ] as [(HTTPHeaders, Int, String, Bool)])
    func answers(headers: HTTPHeaders, status: Int, body: String, isAsked: Bool) async throws {
        let rig = CacheRig()
        rig.mock.on(.get, "/x", replies: [.text("0123456789", headers: Self.fresh), .text("asked")])
        _ = try await rig.get()
        let response = try await rig.get("x", headers)
        #expect(response.statusCode == status)
        #expect(response.text == body)
        #expect(rig.asked == (isAsked ? 2 : 1))
        #expect(response.source == (isAsked ? .network : .cache))
        if isAsked { return }
        #expect(response.headers["X-Kept"] == "1" && response.headers["ETag"] == "\"1\"" && response.headers["Age"] == "0")
        #expect(response.headers.contains("Content-Type") == (status != 304))
        #expect(response.headers.contains("Content-Range") == (status == 206))
    }

    @Test("a 206 from the cache says which bytes it holds; a weak tag selects no part; conditions do not apply to a failure")
    func partial() async throws {
        let rig = CacheRig()
        rig.mock.on(.get, "/x", replies: [.text("0123456789", headers: Self.fresh)])
        _ = try await rig.get()
        let response = try await rig.get("x", ["Range": "bytes=-4"])
        #expect(response.headers["Content-Range"] == "bytes 6-9/10")
        #expect(response.headers["Content-Length"] == "4")
        // An empty body has no bytes to give.
        rig.mock.on(.get, "/empty", replies: [.text("", headers: Self.fresh), .status(416)])
        _ = try await rig.get("empty")
        #expect(try await rig.get("empty", ["Range": "bytes=-1"]).statusCode == 416)
        // Bodies with equal weak tags may differ in their bytes.
        rig.mock.on(.get, "/weak", replies: [.text("0123456789", headers: Self.fresh.merging(["ETag": "W/\"1\""]))])
        _ = try await rig.get("weak")
        #expect(try await rig.get("weak", ["Range": "bytes=0-1", "If-Range": "W/\"1\""]).text == "0123456789")
        for status in [400, 404] {
            rig.mock.on(.get, "/\(status)", replies: [.text("failed", status: status, headers: Self.fresh), .status(500)])
            for headers in [[:], ["If-None-Match": "\"1\""], ["Range": "bytes=0-1"]] as [HTTPHeaders] {
                let response = try await rig.get("\(status)", headers)
                #expect(response.statusCode == status && response.text == "failed")
            }
        }
    }

    @Test("a whole response to a request with conditions is stored; a part is neither stored nor replaces anything")
    func storing() async throws {
        let rig = CacheRig()
        rig.mock.on(
            .get, "/x",
            replies: [
                .text("whole", headers: Self.fresh), .text("le", status: 206, headers: ["Content-Range": "bytes 3-4/5"]), .status(304),
            ])
        #expect(try await rig.get("x", ["If-None-Match": "\"0\""]).text == "whole")
        #expect(try await rig.get().source == .cache)
        #expect(try await rig.get("x", ["Range": "bytes=3-,0-1"]).text == "le")
        #expect(try await rig.get("x", ["If-None-Match": "\"1\"", "Cache-Control": "no-cache"]).statusCode == 304)
        #expect(try await rig.get().text == "whole")
        #expect(rig.asked == 3)
    }

    @Test("a background revalidation asks for the whole, even if the request asked for a part") func background() async throws {
        let rig = CacheRig()
        var headers = Self.fresh
        headers["Cache-Control"] = "max-age=60, stale-while-revalidate=100"
        rig.mock.on(.get, "/x", replies: [.text("0123456789", headers: headers), .text("abcdefghij", headers: Self.fresh)])
        _ = try await rig.get()
        rig.advance(60)
        #expect(try await rig.get("x", ["Range": "bytes=0-1", "If-Range": "\"1\""]).text == "01")
        await rig.stored.wait(for: 2)
        #expect(rig.mock.requests.last?.headers["Range"] == nil && rig.mock.requests.last?.headers["If-Range"] == nil)
        #expect(try await rig.get("x", ["Range": "bytes=0-1"]).text == "ab")
    }

    @Test(
        "if no stored variant matches, the request names all of them, and the server's 304 selects the right one", arguments: [1 << 20, 0])
    func variants(memoryLimit: Int) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ness-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let rig = CacheRig(memoryLimit: memoryLimit, folder: (folder, 1 << 20))
        func headers(_ tag: String) -> HTTPHeaders { ["Cache-Control": "max-age=60", "Vary": "Accept-Language", "ETag": tag] }
        rig.mock.on(
            .get, "/x",
            replies: [
                .text("de", headers: headers("\"de\"")), .text("en", headers: headers("W/\"en\"")),
                .status(304, headers: headers("\"en\"")), .status(304), .text("it", headers: headers("\"it\"")),
            ])
        #expect(try await rig.get("x", ["Accept-Language": "de"]).text == "de")
        rig.advance(1)
        #expect(try await rig.get("x", ["Accept-Language": "en"]).text == "en")
        let british = try await rig.get("x", ["Accept-Language": "en-GB"])
        #expect(british.text == "en" && british.statusCode == 200 && british.source == .revalidated)
        #expect(rig.mock.requests.map { $0.headers["If-None-Match"] } == [nil, "\"de\"", "W/\"en\", \"de\""])
        #expect(try await rig.get("x", ["Accept-Language": "en-GB"]).source == .cache)
        // One that does not say which it is, of several, is not believed.
        #expect(try await rig.get("x", ["Accept-Language": "it"]).text == "it")
        #expect(rig.mock.requests.last?.headers["If-None-Match"] == nil)
        #expect(rig.asked == 5)
    }

    @Test(
        "a tag that a header field cannot hold, or that is longer than 1,024 bytes, is not sent back",
        arguments: [
            ("\"a\u{1}b\"", false), (String(repeating: "a", count: 1_024), true), (String(repeating: "a", count: 1_025), false),
        ])
    func badTag(tag: String, isSent: Bool) async throws {
        let rig = CacheRig()
        rig.count(["ETag": tag, "Cache-Control": "no-cache"])
        #expect(try await rig.twice() == ["1", "2"])
        #expect(rig.mock.requests.last?.headers.contains("If-None-Match") == isSent)
    }

    @Test("header fields of the connection and of proxies are never stored") func connectionFields() async throws {
        let rig = CacheRig()
        let names = [
            "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Authentication-Info", "Proxy-Connection", "Keep-Alive", "TE",
            "Transfer-Encoding", "Upgrade", "X-Hop", "X-Other-Hop", "Connection",
        ]
        rig.mock.on(.get, "/x") { _ in
            var headers = Self.fresh
            for name in names { headers.add(name == "Transfer-Encoding" ? "chunked" : "1", for: name) }
            headers["Connection"] = "x-hop, X-OTHER-HOP"
            return .text("1", headers: headers)
        }
        _ = try await rig.get()
        let stored = try await rig.get()
        #expect(stored.source == .cache && stored.headers["X-Kept"] == "1")
        for name in names { #expect(!stored.headers.contains(name), "\(name)") }
    }
}
