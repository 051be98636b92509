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
        func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest {
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

    @Test("a response to a request with a credential is stored only if the server explicitly allows it") func explicit() async throws {
        let rig = CacheRig()
        rig.count(["ETag": "\"1\""])
        _ = try await rig.get("x", ["Authorization": "alice"])
        #expect(rig.cache.memorySize == 0)
        _ = try await rig.get("x")
        #expect(rig.cache.memorySize > 0)
        await rig.cache.removeAll()
        rig.count(["ETag": "\"1\"", "Cache-Control": "private, no-cache"])
        _ = try await rig.get("x", ["Authorization": "alice"])
        #expect(rig.cache.memorySize > 0)
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
            for (name, field) in [("cookie", "Set-Cookie"), ("session", "X-Session")] {
                rig.mock.on(.get, "/\(name)") { _ in .text("body", headers: fresh.merging([field: "a=hunter2"])) }
                _ = try await rig.get(name)
                #expect(await rig.diskSize() == size)
                #expect(try await rig.get(name).source == .cache)
            }
            let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            #expect(files.count == 1)
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
