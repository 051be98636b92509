import Dispatch
import Foundation
import NessLock
import NessPromise
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The accesses of the cache to its folder. They are counted, because a time would depend on the machine.
@Suite(.inTurn(.withoutSockets)) struct CacheAccessTests {
    /// A manager, by default without memory for responses, over a server of pages that have to be validated or are fresh.
    private func rig(_ folder: URL, _ accesses: Accesses, memoryLimit: Int = 0, control: String = "no-cache") async -> CacheRig {
        let rig = CacheRig(memoryLimit: memoryLimit, folder: (folder, 1 << 24), willAccess: { accesses.add($0) })
        rig.mock.on(.get, "/:name") { request in
            let headers: HTTPHeaders = ["Cache-Control": control, "ETag": "\"1\""]
            guard request.headers.contains("If-None-Match") else { return .text("page", headers: headers) }
            let others: HTTPHeaders = ["Age": "1", "Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Set-Cookie": "a=1"]
            return .status(304, headers: headers.merging(others))
        }
        rig.mock.on(.post, "/:name") { _ in .status(204) }
        // The only time that a cache reads its folder: before the first change.
        _ = await rig.diskSize()
        #expect(accesses.take() == [.list])
        return rig
    }

    private final class Accesses: Sendable {
        private let all = Lock<[CacheFolder.Access]>([])

        func add(_ access: CacheFolder.Access) { all.withLock { $0.append(access) } }

        func take() -> [CacheFolder.Access] {
            all.withLock { all in
                defer { all = [] }
                return all
            }
        }
    }

    /// Holds the next access of a kind, once it is armed.
    private final class Hold: Sendable {
        let arrived = TestGate()
        private let kind: CacheFolder.Access
        private let isArmed = Lock(false), end = DispatchSemaphore(value: 0)

        init(_ kind: CacheFolder.Access) { self.kind = kind }

        func arm() { isArmed.withLock { $0 = true } }
        func release() { end.signal() }

        func willAccess(_ access: CacheFolder.Access) {
            let isHeld = isArmed.withLock { isArmed in
                defer { if access == kind { isArmed = false } }
                return isArmed && access == kind
            }
            guard isHeld else { return }
            arrived.open()
            end.wait()
        }
    }

    @Test("a lookup reads one file, and a change writes one, with few stored pages and with many", arguments: [2, 1_000])
    func steps(count: Int) async throws {
        try await withFolder { folder in
            let accesses = Accesses()
            let first = await rig(folder, accesses)
            for number in 0..<count { _ = try await first.get("\(number)") }
            #expect(accesses.take() == Array(repeating: [.read, .write], count: count).flatMap { $0 })
            let second = await rig(folder, accesses)
            for name in ["0", "1", "0"] {
                // A 304 that changes no lasting field is not worth a write.
                #expect(try await second.get(name).source == .revalidated)
                #expect(accesses.take() == [.read])
            }
            let fresh = await rig(folder, accesses, control: "max-age=60")
            #expect(try await fresh.get("0").source == .revalidated)
            #expect(accesses.take() == [.read, .write])
            #expect(try await fresh.get("0").source == .cache)
            #expect(accesses.take() == [.read])
            #expect(try await fresh.get("1").source == .revalidated)
            #expect(accesses.take() == [.read, .write])
            #expect(try await fresh.get("other").source == .network)
            #expect(accesses.take() == [.read, .write])
            _ = try await fresh.ness.httpRequest(.post, withUrl: "1").dataRequest().value
            #expect(accesses.take() == [.remove])
            let again = await rig(folder, accesses, memoryLimit: 1 << 20, control: "max-age=60")
            #expect(try await again.get("0").source == .cache)
            #expect(accesses.take() == [.read])
            // From memory now.
            #expect(try await again.get("0").source == .cache)
            #expect(accesses.take().isEmpty)
        }
    }

    @Test("a lookup does not wait for a response that is being written") func writing() async throws {
        try await withFolder { folder in
            let hold = Hold(.write), rig = CacheRig(memoryLimit: 0, folder: (folder, 1 << 20), willAccess: hold.willAccess)
            for name in ["x", "y"] { rig.count(at: "/\(name)", ["Cache-Control": "max-age=60"]) }
            _ = try await rig.get("x")
            hold.arm()
            let other = rig.ness.get("y").dataRequest()
            await hold.arrived.wait()
            #expect(try await rig.get("x").source == .cache)
            hold.release()
            _ = try await other.value
            #expect(try await rig.get("y").source == .cache)
        }
    }

    @Test("a cache finds and removes what another cache has written into its folder since it started, by URL or with all")
    func shared() async throws {
        try await withFolder { folder in
            let accesses = Accesses()
            let first = await rig(folder, accesses, control: "max-age=60"), second = await rig(folder, accesses, control: "max-age=60")
            for path in ["x", "y"] { _ = try await second.get(path) }
            #expect(try await first.get("x").source == .cache)
            _ = try await first.ness.post("x").response()
            #expect(folder.entries.count == 1)
            await first.cache.removeAll()
            #expect(folder.entries.isEmpty)
            #expect(try await second.get("y").source == .network)
        }
    }

    @Test("at most the eight newest variants of a URL are stored", arguments: [1 << 20, 0]) func variants(memoryLimit: Int) async throws {
        try await withFolder { folder in
            let rig = CacheRig(memoryLimit: memoryLimit, folder: (folder, 1 << 20))
            rig.count(["Cache-Control": "max-age=60", "Vary": "X-Kind"])
            for kind in 0..<10 { _ = try await rig.get("x", ["X-Kind": "\(kind)"]) }
            for kind in 2..<10 { #expect(try await rig.get("x", ["X-Kind": "\(kind)"]).text == "\(kind + 1)") }
            #expect(try await rig.get("x", ["X-Kind": "1"]).source == .network)
            // A response without Vary replaces them all.
            rig.mock.on(.get, "/x") { _ in .text("for all", headers: ["Cache-Control": "max-age=60"]) }
            _ = try await rig.get("x", ["X-Kind": "11"])
            // Each response counts 256 bytes and its content.
            #expect(rig.cache.memorySize < 2 * 256)
            for kind in 0..<10 { #expect(try await rig.get("x", ["X-Kind": "\(kind)"]).text == "for all") }
        }
    }

    @Test("entries leave in the order of their last use, even if others were removed between") func order() throws {
        var entries = CacheEntries<CacheKey, Int>(), model: [(key: CacheKey, value: Int)] = [], seed: UInt64 = 1
        let distinction = try #require(RequestDistinction(HTTPRequest(url: try url("https://mock.test/"))))
        func random(_ limit: Int) -> Int {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(seed >> 33) % limit
        }
        for step in 0..<5_000 {
            let key = CacheKey(
                url: ExactText("\(random(8))"), user: ExactText("\(random(2))"), credential: ExactText("\(random(2))"),
                distinction: distinction)
            let known = model.first { $0.key == key }
            switch random(6) {
            case 0, 1:
                entries.insert(key, step, size: 1)
                model = model.filter { $0.key != key } + [(key, step)]
            case 2, 3:
                #expect(entries.use(key) == known?.value)
                if let known { model = model.filter { $0.key != key } + [known] }
            case 4:
                entries.remove(key)
                model.removeAll { $0.key == key }
            default:
                let gone = model.prefix(max(0, model.count - 12)).map(\.key)
                #expect(entries.evict(to: 12) == gone)
                model.removeFirst(gone.count)
            }
            #expect(entries.size == model.count && Set(entries.keys) == Set(model.map(\.key)))
            #expect(Set(entries.keys(of: key.url)) == Set(model.map(\.key).filter { $0.url == key.url }))
        }
    }

    @Test("a file that is read while the cache removes it does not return", arguments: [true, false])
    func readDuringRemoval(ofAll: Bool) async throws {
        try await withFolder { folder in
            let hold = Hold(.remove), rig = CacheRig(folder: (folder, 1 << 20), willAccess: hold.willAccess)
            rig.count(["Cache-Control": "max-age=60"])
            rig.mock.on(.put, "/x") { _ in .status(204) }
            #expect(try await rig.get().text == "1")
            hold.arm()
            let removal = Task {
                if ofAll { await rig.cache.removeAll() } else { _ = try await rig.ness.put("x").response() }
            }
            await hold.arrived.wait()
            _ = try await rig.get()
            hold.release()
            try await removal.value
            #expect(try await rig.get().source == .network)
        }
    }
}
