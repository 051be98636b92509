import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Cookies of the application: inserted, from and to Foundation, and on disk.
@Suite(.inTurn) struct CookieStorageTests {
    private static let start = Date(timeIntervalSince1970: 1_000_000_000)

    @Test("an inserted cookie is sent to its host only, and replaces an equal one; one that has expired removes it")
    func insert() throws {
        let jar = CookieJar(), url = try url("https://mock.test/")
        jar.insert(try #require(Cookie(name: "id", value: "0", domain: "mock.test")))
        jar.insert(try #require(Cookie(name: "id", value: "1", domain: "MOCK.test")))
        jar.insert(try #require(Cookie(name: "other", value: "2", domain: "other.test", includesSubdomains: true)))
        #expect(jar.header(for: url) == "id=1")
        jar.insert(try #require(Cookie(name: "id", value: "", domain: "mock.test", expires: .distantPast)))
        #expect(jar.header(for: url) == nil)
    }

    @Test("a cookie that cannot be sent is not made")
    func invalid() {
        let made = [
            Cookie(name: "", value: "1", domain: "a.test"), Cookie(name: "a", value: "1", domain: ""),
            Cookie(name: "a=b", value: "1", domain: "a.test"), Cookie(name: "a", value: "1; b=2", domain: "a.test"),
            Cookie(name: "a", value: "1\r\nX: y", domain: "a.test"), Cookie(name: "a", value: "1", domain: "a.test", path: "x"),
            Cookie(name: "a", value: String(repeating: "x", count: 4_096), domain: "a.test"),
            Cookie(name: "__Secure-a", value: "1", domain: "a.test"),
            Cookie(name: "__Host-a", value: "1", domain: "a.test", path: "/x", isSecure: true),
        ]
        #expect(made.allSatisfy { $0 == nil })
    }

    @Test("no cookie is for all hosts below a public suffix or an address", arguments: ["co.uk", "127.0.0.1", "localhost"])
    func suffix(domain: String) throws {
        let cookie = try #require(Cookie(name: "a", value: "1", domain: domain, includesSubdomains: true))
        #expect(cookie.isHostOnly)
    }

    @Test("a cookie converts to Foundation's type and back unchanged", arguments: [true, false])
    func foundation(isForAll: Bool) throws {
        let cookie = try #require(
            Cookie(
                name: "id", value: "a=b", domain: "example.com", includesSubdomains: isForAll, path: "/x",
                expires: isForAll ? Date(timeIntervalSinceNow: 86_400.rounded()) : nil, isSecure: isForAll, isHTTPOnly: isForAll))
        let foundations = try #require(cookie.httpCookie)
        #expect(foundations.name == "id" && foundations.value == "a=b" && foundations.path == "/x")
        #expect(foundations.domain == (isForAll ? ".example.com" : "example.com"))
        #expect(foundations.isSecure == isForAll && foundations.isHTTPOnly == isForAll)
        let again = try #require(Cookie(foundations))
        #expect(again.expires.map { abs($0.timeIntervalSince(cookie.expires ?? .distantPast)) < 1 } ?? (cookie.expires == nil))
        #expect(again.isHostOnly == !isForAll && again.isSecure == isForAll && again.isHTTPOnly == isForAll)
        #expect(again.name == cookie.name && again.value == cookie.value && again.domain == cookie.domain && again.path == cookie.path)
    }

    @Test("a jar is read from its file as it was written, without session cookies and without those that have expired")
    func disk() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "jar"), url = try url("https://a.example.com/x/y"), time = Lock(Self.start)
            let jar = CookieJar(now: { time.withLock { $0 } })
            for field in [
                "session=0", "short=1; Max-Age=10", "long=2; Max-Age=1000; Secure; HttpOnly; Path=/",
                "all=3; Max-Age=1000; Domain=example.com",
            ] { jar.store(from: ["Set-Cookie": field], url: url) }
            try Data("old".utf8).write(to: file)
            try jar.write(to: file)
            #expect(folder.entries == ["jar"])
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            time.withLock { $0 += 10 }
            let again = CookieJar(contentsOf: file, now: { time.withLock { $0 } })
            #expect(again.cookies == jar.cookies.filter { ["long", "all"].contains($0.name) } && again.cookies.count == 2)
            #expect(again.cookies.map(\.isHTTPOnly) == [true, false])
            #expect(again.header(for: url) == "all=3; long=2")
            jar.removeAll()
            try jar.write(to: file)
            #expect(CookieJar(contentsOf: file).cookies.isEmpty)
        }
    }

    @Test(
        "a file that is missing or broken is an empty jar",
        arguments: [
            nil, "", "{", "[1]", "{}",
            #"[{"name":"a","value":"1\r\nX: y","domain":"a.test","includesSubdomains":false,"path":"/","expires":9e9,"#
                + #""isSecure":false,"isHTTPOnly":false}]"#,
        ])
    func broken(text: String?) async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "jar")
            if let text { try Data(text.utf8).write(to: file) }
            let jar = CookieJar(contentsOf: file)
            #expect(jar.cookies.isEmpty)
            jar.insert(try #require(Cookie(name: "a", value: "1", domain: "a.test", expires: .distantFuture)))
            try jar.write(to: file)
            #expect(CookieJar(contentsOf: file).cookies.map(\.value) == ["1"])
        }
    }

    @Test("a file that cannot be written is an error, and leaves nothing behind")
    func unwritable() async throws {
        try await withFolder { folder in
            let taken = folder.appending(path: "taken/inside")
            try FileManager.default.createDirectory(at: taken, withIntermediateDirectories: true)
            #expect(throws: (any Error).self) { try CookieJar().write(to: taken.deletingLastPathComponent()) }
            #expect(throws: (any Error).self) { try CookieJar().write(to: folder.appending(path: "missing/jar")) }
            #expect(folder.entries == ["taken"])
        }
    }

    @Test("no description of a cookie shows its value")
    func secret() throws {
        let cookie = try #require(Cookie(name: "id", value: "hunter2", domain: "a.test"))
        expectHidden("hunter2", in: cookie)
        expectHidden("hunter2", in: [cookie])
    }

    @Test("a write removes the files that killed processes left behind, and no other file") func leftovers() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "jar"), names = ["jar.\(UUID())", "jar.\(UUID())", "jar.notes", "other.\(UUID())"]
            for name in names {
                let path = folder.appending(path: name).path
                #expect(FileManager.default.createFile(atPath: path, contents: Data()))
                // The second one may be in use.
                if name != names[1] { try FileManager.default.setAttributes([.modificationDate: Date.distantPast], ofItemAtPath: path) }
            }
            try CookieJar().write(to: file)
            #expect(Set(folder.entries) == Set(["jar"] + names.dropFirst()))
        }
    }

    @Test("a jar with a cookie of an infinite date can be written", arguments: [TimeInterval.infinity, -.infinity, .nan])
    func infiniteExpiry(time: TimeInterval) async throws {
        let jar = CookieJar()
        jar.insert(
            try #require(Cookie(name: "a", value: "1", domain: "h.test", expires: Date(timeIntervalSinceReferenceDate: time))))
        try await withFolder { try jar.write(to: $0.appending(path: "jar")) }
    }
}
