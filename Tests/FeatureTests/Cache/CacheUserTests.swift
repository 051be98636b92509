import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The identity of a user for the cache: see ruling C28.
@Suite("Users of a cache", .inTurn(.withoutSockets)) struct CacheUserTests {
    private static let fresh: HTTPHeaders = ["Cache-Control": "max-age=60"]

    private struct Token: Sendable {
        var text: String
        var user: String?
    }

    private static func session(_ token: Token) -> RefreshableAuthentication<Token> {
        RefreshableAuthentication(credential: token, userIdentifier: \.user) {
            ["Authorization": "Bearer \($0.text)"]
        } refresh: { stale, _ in
            Token(text: "\(stale.text)+", user: stale.user)
        }
    }

    private static func rig(_ folder: URL, _ session: RefreshableAuthentication<Token>) -> CacheRig {
        CacheRig(folder: (folder, 1 << 20)) { $0.authentication = session }
    }

    @Test(
        "credentials that are canonically equal but differ in their bytes belong to two users, in the cache and in shared exchanges")
    func bytes() async throws {
        let mine = "\u{E9}", theirs = "e\u{301}", rig = CacheRig()
        rig.count(Self.fresh)
        #expect(try await rig.get("x", ["Authorization": mine]).text == "1")
        #expect(try await rig.get("x", ["Authorization": theirs]).text == "2")
        #expect(try await rig.get("x", ["Authorization": mine]).text == "1")
        let gate = TestGate()
        rig.mock.on(.get, "/y", after: gate) { _ in .text("ok") }
        let requests = [mine, theirs].flatMap {
            [rig.ness.get("y").set(headers: ["Authorization": $0]), rig.ness.get("y").set(duplicateIdentifier: $0)]
        }
        let promises = requests.map { $0.dataRequest() }
        await rig.mock.waitUntil { $0.requests.count == 6 }
        gate.open()
        for promise in promises { _ = try await promise.value }
    }

    @Test("a renewed token finds the responses of the old one if the authentication names the user, even with Vary: Authorization")
    func renewed() async throws {
        try await withFolder { folder in
            let session = Self.session(Token(text: "a", user: "alice"))
            let first = Self.rig(folder, session)
            first.count(Self.fresh.merging(["Vary": "Authorization"]))
            _ = try await first.get()
            session.credential = Token(text: "b", user: "alice")
            #expect(try await first.get().text == "1")
            // In another process, from the folder.
            let second = Self.rig(folder, session)
            #expect(try await second.get().source == .cache)
            #expect(second.asked == 0)
            session.credential = Token(text: "c", user: "bob")
            first.count(Self.fresh)
            #expect(try await first.get().source == .network)
            session.credential = Token(text: "d", user: nil)
            #expect(try await first.get().source == .network)
            session.credential = Token(text: "e", user: nil)
            #expect(try await first.get().source == .network)
        }
    }

    @Test("other secrets of a request separate a user's responses")
    func otherSecrets() async throws {
        let session = Self.session(Token(text: "a", user: "alice"))
        let rig = CacheRig {
            $0.authentication = session
            $0.secretNames = ["X-Tenant-Key"]
        }
        rig.count(Self.fresh)
        #expect(try await rig.get("x", ["X-Tenant-Key": "1"]).text == "1")
        #expect(try await rig.get("x", ["X-Tenant-Key": "2"]).text == "2")
        #expect(try await rig.get("x", ["X-Tenant-Key": "1"]).text == "1")
    }

    @Test("a credential that a loader puts in place of the user's is its own user")
    func replaced() async throws {
        let session = Self.session(Token(text: "a", user: "alice")), other = Lock("")
        let rig = CacheRig {
            $0.authentication = session
            $0.insert(
                .modifyRequest { request in
                    let text = other.withLock { $0 }
                    if !text.isEmpty { request.headers["Authorization"] = text }
                }, at: .authenticated)
        }
        rig.count(Self.fresh)
        #expect(try await rig.get().text == "1")
        other.withLock { $0 = "Bearer bob" }
        #expect(try await rig.get().text == "2")
    }

    @Test("the user of a custom authentication counts only if it did not change while the credential was added")
    func changing() async throws {
        final class Changing: Authentication {
            let user = Lock("alice")
            let next = Lock<String?>(nil)
            var userIdentifier: String? { user.withLock { $0 } }
            func authenticate(_ request: HTTPRequest, in context: AuthenticationContext) async throws -> HTTPRequest {
                var request = request
                request.headers["Authorization"] = user.withLock { $0 }
                if let next = next.withLock({ $0.take() }) { user.withLock { $0 = next } }
                return request
            }
        }
        let authentication = Changing()
        let rig = CacheRig { $0.authentication = authentication }
        rig.count(Self.fresh)
        authentication.next.withLock { $0 = "bob" }
        // Sent with alice's credential, while bob signs in.
        #expect(try await rig.get().text == "1")
        #expect(try await rig.get().text == "2")
        #expect(try await rig.get().text == "2")
    }

    @Test("a sign-out forgets what belonged to the user, in memory, in the folder, and what is being fetched")
    func signOut() async throws {
        try await withFolder { folder in
            let session = Self.session(Token(text: "a", user: "alice"))
            let rig = Self.rig(folder, session)
            rig.count(Self.fresh)
            _ = try await rig.get()
            session.credential = Token(text: "b", user: "bob")
            _ = try await rig.get()
            session.credential = Token(text: "a", user: "alice")
            let go = TestGate()
            rig.mock.on(.get, "/slow", after: go) { _ in .text("slow", headers: Self.fresh) }
            let slow = rig.ness.httpRequest(withUrl: "slow").dataRequest()
            await rig.mock.waitUntil { $0.requests.count == 3 }
            await rig.cache.removeAll(of: "alice")
            go.open()
            _ = try await slow.value
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)
            #expect(try await rig.get().source == .network)
            #expect(try await rig.get("slow").source == .network)
            session.credential = Token(text: "c", user: "bob")
            #expect(try await rig.get().source == .cache)
            await rig.cache.removeAll(of: "")
            #expect(try await rig.get().source == .cache)
        }
    }

    @Test("managers with different client certificates, or with transports on different routes, share no stored response")
    func routes() async throws {
        struct Routed: Transport {
            let route: String
            let tlsCapabilities: TLSCapabilities = .clientIdentities
            let tally: Tally
            func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
                try await receive(.head(statusCode: 200, headers: CacheUserTests.fresh))
                try await receive(.body(Data("\(tally.enter())".utf8)))
            }
        }
        let cache = HTTPCache(memoryLimit: 1 << 20), tally = Tally()
        @Sendable func text(_ identity: String?, _ route: String = "", _ scheme: String = "https", folder: URL? = nil) async throws
            -> String
        {
            let ness = Ness {
                $0.cache = folder.map { HTTPCache(memoryLimit: 1 << 20, storage: CacheFolder($0, limit: 1 << 20)) } ?? cache
                $0.transport = Routed(route: route, tally: tally)
                if let identity { $0.clientIdentities = ["*.test": ClientIdentity(pkcs12: Data(identity.utf8), password: "p")] }
            }
            return try await ness.get("\(scheme)://mock.test/x").text()
        }
        var texts = [try await text("alice"), try await text("bob"), try await text(nil), try await text(nil, "proxy")]
        texts += [try await text("alice", "proxy"), try await text("alice"), try await text(nil, "proxy")]
        #expect(texts == ["0", "1", "2", "3", "4", "0", "3"])
        // Over http no certificate is shown.
        for identity in ["alice", "bob"] { #expect(try await text(identity, "", "http") == "5") }
        texts = try await withFolder { folder in
            [try await text("alice", folder: folder), try await text("bob", folder: folder), try await text("alice", folder: folder)]
        }
        #expect(texts == ["6", "7", "6"])
    }

    #if os(Linux)
    @Test("transports with other proxies, sockets or certificates have other routes; equal ones have equal routes")
    func curlRoutes() throws {
        let proxy = try url("http://127.0.0.1:3128")
        let changes: [(inout CurlTransport.Options) -> Void] = [
            { _ in }, { $0.proxy = .direct }, { $0.proxy = .url(proxy) }, { $0.proxy = .url(proxy, username: "a", password: "b") },
            { $0.unixSocketPath = "/tmp/a" }, { $0.unixSocketPath = "/tmp/b" }, { $0.localInterface = "127.0.0.1" },
            { $0.hostEntries = [.init(host: "a.test", port: 80, addresses: ["127.0.0.1"])] },
        ]
        let routes = try changes.map { try CurlTransport($0).route }
        #expect(Set(routes).count == routes.count && routes[0].isEmpty)
        let again = try changes.map { try CurlTransport($0).route }
        #expect(again == routes)
        let wrapped = try CurlTransport(changes[4])
        #expect(RecordingTransport(wrapping: wrapped).route == routes[4])
    }
    #endif
}
