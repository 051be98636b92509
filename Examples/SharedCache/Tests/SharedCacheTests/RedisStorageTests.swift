import Foundation
import NIOCore
import NessHTTP
import NessTesting
import Testing

@testable import RedisStorage

/// The storage in Redis, against a server that each test starts.
@Suite("Redis", .enabled(if: RedisServer.isExpected), .timeLimit(.minutes(2)))
struct RedisStorageTests {
    /// A process of several that share responses: a manager with its own cache and its own connection.
    private struct Client {
        let ness: Ness
        let mock = MockTransport()
        let clock = ManualClock()

        init(_ server: RedisServer, user: String? = nil, timeout: Duration = .seconds(60)) {
            let storage = RedisStorage(.socket(path: server.path), timeout: timeout)
            ness = Ness { [mock, clock] in
                $0.transport = mock
                $0.clock = clock
                $0.baseURL = URL(string: "https://mock.test/")
                $0.cache = HTTPCache(memoryLimit: 0, storage: storage)
                $0.authentication = user.map { BearerAuthentication(token: $0) }
            }
            mock.on(.get, "/x") { request in
                .text(request.headers["Authorization"] ?? "nobody", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""])
            }
            mock.on(.post, "/x") { _ in .status(204) }
        }

        func get() async throws -> HTTPResponse { try await ness.get("x").response() }
        func source() async throws -> HTTPResponse.Source { try await get().source }
    }

    @Test("keeps the contract of a storage", arguments: CacheStorageConformance.checks)
    func conforms(_ check: CacheStorageConformance.Check) async throws {
        try await RedisServer.run { server in
            let problems = await check.problems(of: RedisStorage(.socket(path: server.path), timeout: .seconds(60)))
            #expect(problems.isEmpty)
        }
    }

    @Test("clients share responses, and see each other's removals") func shared() async throws {
        try await RedisServer.run { server in
            let first = Client(server), second = Client(server)
            #expect(try await first.source() == .network)
            #expect(try await second.source() == .cache)
            _ = try await second.ness.post("x").response()
            #expect(try await first.source() == .network)
            #expect(try await second.source() == .cache)
            await first.ness.reset()
            #expect(try await second.source() == .network)
        }
    }

    @Test("users get their own responses only") func users() async throws {
        try await RedisServer.run { server in
            for user in ["ada", "bob"] {
                #expect(try await Client(server, user: user).source() == .network)
                let again = try await Client(server, user: user).get()
                #expect(again.source == .cache && again.text == "Bearer \(user)")
            }
            #expect(try await Client(server).get().text == "nobody")
        }
    }

    @Test("requests succeed while the server is gone, and use it when it has returned") func gone() async throws {
        try await RedisServer.run { server in
            let client = Client(server)
            #expect(try await client.source() == .network)
            #expect(try await client.source() == .cache)
            await server.stop()
            for _ in 0..<3 { #expect(try await client.source() == .network) }
            #expect(try await client.ness.post("x").response().statusCode == 204)
            try await server.start()
            #expect(try await client.source() == .network)
            #expect(try await client.source() == .cache)
        }
    }

    @Test("a server that does not reply delays one request for the cache's timeout, and later requests not at all") func slow() async throws
    {
        try await RedisServer.run { server in
            let client = Client(server)
            #expect(try await client.source() == .network)
            server.suspend()
            let late = client.ness.get("x").dataRequest()
            await client.clock.waitForSleepers(1)
            #expect(client.mock.requests.count == 1)
            client.clock.advance(by: .seconds(1))
            #expect(try await late.value.message.source == .network)
            #expect(try await client.source() == .network)
            server.resume()
            // The cache asks the server again once it has replied to the late command.
            while try await client.source() != .cache { try Task.checkCancellation() }
        }
    }

    @Test("a connection without a reply closes after the storage's timeout, and the next call connects again") func timeout() async throws {
        try await RedisServer.run { server in
            let key = try #require(CacheStorageKey(rawValue: String(repeating: "a", count: 64)))
            let storage = RedisStorage(.socket(path: server.path), timeout: .milliseconds(50))
            server.suspend()
            await #expect(throws: RedisConnection.TimedOut.self) { try await storage.read(key) }
            server.resume()
            let patient = RedisStorage(.socket(path: server.path), timeout: .seconds(60))
            #expect(try await patient.read(key) == nil)
        }
    }

    @Test("requests succeed while the server is full, and nothing outdated is found") func full() async throws {
        try await RedisServer.run { server in
            let client = Client(server),
                control = try await RedisConnection.connect(
                    to: .socket(path: server.path), password: nil, timeout: .seconds(60))
            func limit(_ bytes: String) async throws {
                try await control.send(["CONFIG", "SET", "maxmemory", bytes].map { ByteBuffer(string: $0) })
            }
            #expect(try await client.source() == .network)
            try await limit("1")
            #expect(try await client.source() == .cache)
            // The new response does not fit, so the older one is removed.
            // The newer response does not fit, so the older one is removed.
            _ = try await client.ness.get("x").set(header: "Cache-Control", to: "no-cache").response()
            #expect(try await client.source() == .network)
            #expect(try await client.ness.post("x").response().statusCode == 204)
            #expect(try await client.source() == .network)
            try await limit("0")
            #expect(try await client.source() == .network)
            #expect(try await client.source() == .cache)
        }
    }

    @Test("a record whose URL has lost its index is not found, because a removal would miss it") func evictedIndex() async throws {
        try await RedisServer.run { server in
            let client = Client(server),
                control = try await RedisConnection.connect(
                    to: .socket(path: server.path), password: nil, timeout: .seconds(60))
            #expect(try await client.source() == .network)
            guard case .list(let names) = try await control.send(["KEYS", "ness:url:*"].map { ByteBuffer(string: $0) }),
                case .bytes(let index) = names.first
            else {
                Issue.record("there is no index")
                return
            }
            try await control.send([ByteBuffer(string: "DEL"), index])
            #expect(try await client.source() == .network)
            #expect(try await client.source() == .cache)
        }
    }

    @Test("bytes that another program wrote are not found") func foreign() async throws {
        try await RedisServer.run { server in
            let client = Client(server),
                control = try await RedisConnection.connect(
                    to: .socket(path: server.path), password: nil, timeout: .seconds(60))
            #expect(try await client.source() == .network)
            guard case .list(let names) = try await control.send(["KEYS", "ness:*"].map { ByteBuffer(string: $0) }) else { return }
            let records = names.compactMap { name -> ByteBuffer? in
                guard case .bytes(let name) = name, !String(buffer: name).hasPrefix("ness:url:") else { return nil }
                return name
            }
            #expect(records.count == 1)
            for record in records {
                try await control.send([ByteBuffer(string: "APPEND"), record, ByteBuffer(string: "!")])
                #expect(try await client.source() == .network)
                // A value of another type.
                try await control.send([ByteBuffer(string: "DEL"), record])
                try await control.send([ByteBuffer(string: "RPUSH"), record, ByteBuffer(string: "!")])
                #expect(try await client.source() == .network)
                #expect(try await client.source() == .cache)
            }
        }
    }
}
