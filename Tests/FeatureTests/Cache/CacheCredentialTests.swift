import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// No user sees what another was sent, and no secret is on disk.
@Suite(.inTurn(.withoutSockets)) struct CacheCredentialTests {
    private let fresh: HTTPHeaders = ["Cache-Control": "max-age=60"]

    @Test(
        "a stored response is used only for requests with the same credential",
        arguments: ["Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key"])
    func separate(field: String) async throws {
        let rig = CacheRig { $0.secretNames = ["X-Api-Key"] }
        rig.count(fresh)
        #expect(try await rig.get("x", [field: "alice"]).text == "1")
        #expect(try await rig.get("x", [field: "bob"]).text == "2")
        #expect(try await rig.get("x").text == "3")
        #expect(try await rig.get("x", [field: "alice"]).text == "1")
        #expect(try await rig.get("x", [field: "bob"]).text == "2")
        #expect(try await rig.get("x", [field: "alice, bob"]).text == "4")
    }

    private final class Key: Authentication {
        let user = Lock("alice")
        func authenticate(_ request: HTTPRequest, in context: AuthenticationContext) async throws -> HTTPRequest {
            var request = request
            request.headers["X-User"] = user.withLock { $0 }
            return request
        }
    }

    @Test("each value of a field with a secret name has its own stored response")
    func secretNames() async throws {
        let rig = CacheRig()
        rig.count(fresh)
        #expect(try await rig.get("x", ["X-Auth-Token": "alice"]).text == "1")
        #expect(try await rig.get("x", ["X-Auth-Token": "bob"]).text == "2")
        #expect(try await rig.get("x", ["X-Auth-Token": "alice"]).text == "1")
        #expect(try await rig.get("x", ["X-Plain": "carol"]).text == "3")
        #expect(try await rig.get("x", ["X-Plain": "dave"]).text == "3")
    }

    @Test("every field that an authentication adds is a credential: it separates stored responses, and stays on its origin")
    func authentication() async throws {
        let key = Key()
        let rig = CacheRig { $0.authentication = key }
        rig.count(fresh)
        #expect(try await rig.twice() == ["1", "1"])
        key.user.withLock { $0 = "bob" }
        #expect(try await rig.twice() == ["2", "2"])
        rig.mock.on(.get, "/away") { _ in .status(302, headers: ["Location": "https://other.test/x"]) }
        _ = try await rig.get("away")
        #expect(rig.mock.requests.map { $0.headers["X-User"] } == ["alice", "bob", "bob", nil])
        #expect("\(try #require(rig.mock.requests.first).headers)".contains("alice") == false)
    }

    @Test(
        "a response of any type with a validator and no lifetime is stored for validation, for each user apart",
        arguments: ["ETag: \"1\"", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], ["text/html", "application/json", "image/png"])
    func validated(validator: String, type: String) async throws {
        let rig = CacheRig(), fields = validator.components(separatedBy: ": ")
        rig.mock.on(.get, "/x") { request in
            request.headers.contains("If-None-Match") || request.headers.contains("If-Modified-Since")
                ? .status(304) : .text(request.headers["Authorization"] ?? "", headers: [fields[0]: fields[1], "Content-Type": type])
        }
        for user in ["alice", "bob", "alice", "bob"] { #expect(try await rig.get("x", ["Authorization": user]).text == user) }
        #expect(rig.mock.requests.suffix(2).allSatisfy { $0.headers.contains("If-None-Match") || $0.headers.contains("If-Modified-Since") })
        #expect(try await rig.get("x", ["Authorization": "alice"]).source == .revalidated)
    }

    @Test("the cache's files contain no secret of a URL, a request or a response") func noSecretOnDisk() async throws {
        try await withFolder { parent in
            let folder = parent.appendingPathComponent("made/cache")
            let rig = CacheRig(folder: (folder, 1 << 20)) { $0.secretNames = ["X-Session"] }
            let fresh: HTTPHeaders = ["Cache-Control": "max-age=60"]
            rig.mock.on(.get, "/x") { _ in .text("body", headers: fresh.merging(["Vary": "Cookie, X-Trace"])) }
            _ = try await rig.get("x?token=hunter2", ["Authorization": "hunter2", "Cookie": "a=hunter2", "X-Trace": "hunter2"])
            #expect(await rig.diskSize() > 0)
            let size = await rig.diskSize()
            rig.mock.on(.get, "/session") { _ in .text("body", headers: fresh.merging(["X-Session": "a=hunter2"])) }
            _ = try await rig.get("session")
            #expect(await rig.diskSize() == size)
            #expect(try await rig.get("session").source == .cache)
            // A record has no cookies.
            rig.mock.on(.get, "/cookie") { _ in .text("body", headers: fresh.merging(["Set-Cookie": "a=hunter2"])) }
            _ = try await rig.get("cookie")
            #expect(try await rig.get("cookie").headers["Set-Cookie"] == "a=hunter2")
            let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            #expect(files.count == 2)
            for file in files {
                #expect(!file.lastPathComponent.contains("hunter2"))
                #expect(try Data(contentsOf: file).range(of: Data("hunter2".utf8)) == nil)
                let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
                #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            }
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
        }
    }
}
