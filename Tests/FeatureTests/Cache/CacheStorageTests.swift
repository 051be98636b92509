import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The cache over a storage that fails, is slow, is full or returns the wrong bytes.
@Suite(.inTurn(.withoutSockets)) struct CacheStorageTests {
    private struct Unreachable: Error {}

    /// A storage whose next calls fail or wait. A call of another kind passes.
    private final class Faults: Sendable {
        let failing = Lock<Set<String>>([])
        let holding = Lock<Set<String>>([])
        let accesses = Log<String>()
        let held = Tally(), go = TestGate()

        func willAccess(_ access: MockCacheStorage.Access) async throws {
            let kind: String
            switch access {
            case .read: kind = "read"
            case .write: kind = "write"
            case .remove: kind = "remove"
            }
            accesses.add(kind)
            if holding.withLock({ $0.contains(kind) }) {
                held.enter()
                await go.wait()
            }
            if failing.withLock({ $0.contains(kind) }) { throw Unreachable() }
        }
    }

    private let faults = Faults()
    private let storage: MockCacheStorage

    init() { storage = MockCacheStorage { [faults] in try await faults.willAccess($0) } }

    /// A cache without memory, so that each response comes from the storage or the server.
    private func rig(_ control: String = "max-age=60", memoryLimit: Int = 0) -> CacheRig {
        let rig = CacheRig(memoryLimit: memoryLimit, storage: storage)
        rig.count(["Cache-Control": control])
        rig.mock.on(.post, "/x") { _ in .status(204) }
        return rig
    }

    @Test("a removal of one cache is seen by another that has no memory; one with memory serves its own response until it expires")
    func removalOfAnother() async throws {
        let first = rig(), second = rig(), remembering = rig(memoryLimit: 1 << 20)
        for rig in [first, second, remembering] { #expect(try await rig.get().text == "1") }
        _ = try await first.ness.post("x").response()
        #expect(try await second.get().source == .network)
        #expect(try await remembering.get().source == .cache)
    }

    @Test("a canceled request that is awaited ends immediately, although the storage hangs", arguments: ["read", "write"])
    func canceled(kind: String) async throws {
        faults.holding.withLock { $0 = [kind] }
        let rig = rig()
        // The rig's clock stands still, so no timeout ends the wait for the storage.
        let request = Task { try await rig.ness.get("x").response() }
        await faults.held.wait(for: 1)
        request.cancel()
        let error = await #expect(throws: NessError.self) { try await request.value }
        #expect(error?.kind == .dropped)
        faults.go.open()
    }

    @Test("a request succeeds without the storage if a call fails", arguments: ["read", "write", "remove"])
    func failing(kind: String) async throws {
        faults.failing.withLock { $0 = [kind] }
        let rig = rig()
        #expect(try await rig.get().source == .network)
        #expect(try await rig.ness.post("x").response().statusCode == 204)
        #expect(try await rig.get().source == .network)
        await rig.ness.reset()
        #expect(try await rig.get().source == .network)
    }

    @Test("a record that cannot replace the older one removes it") func full() async throws {
        let rig = rig("max-age=60, must-revalidate")
        _ = try await rig.get()
        #expect(storage.records.count == 1)
        faults.failing.withLock { $0 = ["write"] }
        #expect(try await rig.get("x", ["Cache-Control": "no-cache"]).text == "2")
        #expect(storage.records.isEmpty)
        faults.failing.withLock { $0 = [] }
        #expect(try await rig.get().text == "3")
    }

    @Test("nothing is read until a removal that failed has been repeated", arguments: ["write", "user", "reset"])
    func owedRemoval(kind: String) async throws {
        let rig = CacheRig(memoryLimit: 0, storage: storage) { $0.authentication = BearerAuthentication(token: "a", userIdentifier: "ada") }
        rig.count(["Cache-Control": "max-age=60"])
        rig.mock.on(.post, "/x") { _ in .status(204) }
        #expect(try await rig.get().text == "1")
        faults.failing.withLock { $0 = ["remove"] }
        switch kind {
        case "write": _ = try await rig.ness.post("x").response()
        case "user": await rig.cache.removeAll(of: "ada")
        default: await rig.ness.reset()
        }
        #expect(storage.records.count == 1)
        // It fails again.
        #expect(try await rig.get().text == "2")
        faults.failing.withLock { $0 = [] }
        #expect(try await rig.get().text == "3")
        #expect(try await rig.get().source == .cache)
    }

    @Test("a request waits at most for the timeout, and later ones do not wait until the storage returns", arguments: ["read", "write"])
    func slow(kind: String) async throws {
        let rig = rig()
        faults.holding.withLock { $0 = [kind] }
        let first = rig.ness.get("x").dataRequest()
        await faults.held.wait(for: 1)
        #expect(!first.isCompleted)
        rig.rig.clock.advance(by: .seconds(1))
        #expect(try await first.value.message.source == .network)
        let calls = faults.accesses.entries.count
        #expect(try await rig.get().source == .network)
        #expect(try await rig.ness.post("x").response().statusCode == 204)
        await rig.ness.reset()
        #expect(faults.accesses.entries.count == calls)
        faults.holding.withLock { $0 = [] }
        faults.go.open()
        // The storage is used again once its call has ended. What was not removed is removed first.
        #expect(try await rig.get().source == .network)
        var response = try await rig.get()
        while response.source != .cache { response = try await rig.get() }
        #expect(!["1", "2"].contains(response.text))
    }

    @Test("a reset waits at most for the timeout, and nothing from before it is found afterwards") func slowReset() async throws {
        let rig = rig()
        _ = try await rig.get()
        faults.holding.withLock { $0 = ["remove"] }
        let reset = Task { await rig.ness.reset() }
        await faults.held.wait(for: 1)
        rig.rig.clock.advance(by: .seconds(1))
        await reset.value
        #expect(try await rig.get().text == "2")
        faults.go.open()
    }

    @Test("a write that starts before a removal does not end after it") func order() async throws {
        let rig = rig()
        faults.holding.withLock { $0 = ["write"] }
        let read = rig.ness.get("x").dataRequest()
        await faults.held.wait(for: 1)
        let change = rig.ness.post("x").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 2 }
        let reset = Task { await rig.cache.removeAll(of: "nobody") }
        faults.go.open()
        _ = try await read.value
        _ = try await change.value
        await reset.value
        #expect(storage.records.isEmpty)
    }

    @Test("a removal of a user's responses does not wait for the removal of one URL")
    func independentRemovals() async throws {
        let rig = rig()
        _ = try await rig.get()
        faults.holding.withLock { $0 = ["remove"] }
        let change = rig.ness.post("x").dataRequest()
        await faults.held.wait(for: 1)
        let removal = Task { await rig.cache.removeAll(of: "ada") }
        await faults.held.wait(for: 2)
        faults.go.open()
        _ = try await change.value
        await removal.value
        #expect(storage.records.isEmpty)
    }

    @Test("while the responses of a user are removed, none is written, because it would keep other variants of its record")
    func writeDuringARemoval() async throws {
        let rig = rig()
        faults.holding.withLock { $0 = ["remove"] }
        let removal = Task { await rig.cache.removeAll(of: "ada") }
        await faults.held.wait(for: 1)
        _ = try await rig.get()
        #expect(!faults.accesses.entries.contains("write"))
        faults.go.open()
        await removal.value
        _ = try await rig.get()
        #expect(storage.records.count == 1)
    }

    @Test("bytes that are cut, changed, foreign, or another key's record count as missing") func wrongBytes() async throws {
        let rig = rig()
        _ = try await rig.get("x", ["Authorization": "ada"])
        let (key, whole) = try #require(storage.records.first)
        _ = try await rig.get("x", ["Authorization": "bob"])
        let other = try #require(storage.records.first { $0.key != key })
        var wrong = [
            Data(), Data("foreign".utf8), whole + Data([0]), Data(whole.reversed()), Data(repeating: 0xFF, count: 40), other.value,
        ]
        wrong += (0..<whole.count).map { whole.prefix($0) } + (1..<whole.count).map { whole.suffix($0) }
        wrong += whole.indices.map { index in
            var changed = whole
            changed[index] ^= 0x20
            return changed
        }
        for record in wrong { #expect(CacheRecord.decode(record, key).isEmpty, "\(record.count) bytes") }
        // The start of the bytes may lie anywhere.
        #expect(CacheRecord.decode((Data([1, 2]) + whole)[2...], key).first?.body == Data("1".utf8))
        storage.records = [key: other.value, other.key: whole]
        #expect(try await rig.get("x", ["Authorization": "ada"]).text == "3")
    }

    // MARK: records

    private func record(_ responses: CachedResponse...) throws -> (bytes: Data, read: [CachedResponse]) {
        let request = HTTPRequest(url: try url("https://mock.test/x"))
        let key = try #require(CacheKey(request, over: "", by: .none, besides: nil)?.digests)
        let bytes = CacheRecord.encode(responses, key)
        return (bytes, CacheRecord.decode(bytes, key))
    }

    private func response(_ text: String = "", variant: String = "", received: Date = CacheRig.start, age: Double = 5) -> CachedResponse {
        CachedResponse(
            statusCode: 200, headers: ["A": "b"], body: Data(text.utf8), received: received, initialAge: age, variant: variant,
            checksum: nil)
    }

    @Test("the body of a single response is not copied, and starts at 0") func body() throws {
        let long = String(repeating: "long ", count: 1_000), record = try record(response(long))
        let body = try #require(record.read.first).body
        #expect(body.startIndex == 0 && body == Data(long.utf8))
        let addresses = [record.bytes, body].map { $0.withUnsafeBytes { $0.baseAddress } }
        #expect(addresses[0] == addresses[1])
        let several = try self.record(response("a", variant: "1"), response("bc", variant: "2")).read
        #expect(several.map(\.body) == [Data("a".utf8), Data("bc".utf8)] && several.allSatisfy { $0.body.startIndex == 0 })
    }

    @Test("a record keeps the time of its response exactly") func time() throws {
        for number in 0..<1_000 {
            let received = Date(timeIntervalSinceReferenceDate: 800_000_000 + Double(number) / 997)
            #expect(try record(response(received: received)).read.first?.received == received)
        }
    }

    @Test("a record with numbers that no date or age can be counts as missing", arguments: ["nan", "-inf", "inf", "-1e300", "1e300"])
    func impossibleNumbers(number: String) throws {
        let value = try #require(Double(number)), date = Date(timeIntervalSince1970: value)
        for changed in [response(received: date), response(age: value)] { #expect(try record(changed).read.isEmpty) }
    }

    @Test(
        "a record expires a week after its last use is possible",
        arguments: [("max-age=60", 60), ("max-age=60, stale-if-error=40, stale-while-revalidate=9", 100), ("no-cache", 0)])
    func expiry(control: String, seconds: Int) async throws {
        let times = Log<Duration>()
        let storage = MockCacheStorage { access in if case .write(let time) = access { times.add(time) } }
        let rig = CacheRig(memoryLimit: 0, storage: storage)
        rig.count(["Cache-Control": control, "ETag": "\"1\""])
        _ = try await rig.get()
        #expect(times.entries == [.seconds(seconds + 604_800)])
    }

    @Test("a 304 renews the time for which a response in the storage may replace an error") func renewedTolerance() async throws {
        let rig = CacheRig(memoryLimit: 0, storage: storage)
        let headers: HTTPHeaders = ["Cache-Control": "stale-if-error=60", "ETag": "\"1\""]
        rig.mock.on(.get, "/x", replies: [.text("1", headers: headers), .status(304), .status(503)])
        for source in [HTTPResponse.Source.network, .revalidated, .stale] {
            #expect(try await rig.get().source == source)
            rig.advance(50)
        }
    }

    @Test("the text of a key is checked", arguments: ["", "x", String(repeating: "a", count: 63), String(repeating: "A", count: 64)])
    func keys(text: String) {
        #expect(CacheStorageKey(rawValue: text) == nil)
        let digest = String(repeating: "a", count: 64)
        for ending in ["", "-\(digest)", "--\(digest)", "-\(digest)-\(digest)"] {
            #expect(CacheStorageKey(rawValue: digest + ending)?.url == digest)
            #expect(CacheStorageKey(rawValue: digest + ending + text + "/") == nil)
        }
    }

    /// Logs the time for which the cache wants each record to be kept.
    private struct Recorder: CacheStorage {
        let times = Log<Duration>()
        func read(_ key: CacheStorageKey) async throws -> Data? { nil }
        func write(_ record: Data, for key: CacheStorageKey, expiresAfter time: Duration) async throws { times.add(time) }
        func remove(_ key: CacheStorageKey) async throws {}
        func removeAll(ofURL url: String) async throws {}
        func removeAll(where isRemoved: @Sendable (CacheStorageKey) -> Bool) async throws {}
    }

    @Test("a storage keeps a record for at most seventy years, even if the response expires in the year 9999")
    func longestTime() async throws {
        let recorder = Recorder()
        let rig = CacheRig(memoryLimit: 0, storage: recorder)
        rig.count(["Expires": "Fri, 31 Dec 9999 23:59:59 GMT"])
        _ = try await rig.get()
        await recorder.times.wait(for: 1)
        #expect(try #require(recorder.times.entries.first) < .seconds(70 * 366 * 86_400))
    }
}
