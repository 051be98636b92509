import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The cache compares requests as flights do, except for what a stored response does not depend on.
@Suite("Cache: identity", .inTurn(.withoutSockets)) struct CacheIdentityTests {
    enum Tenant: RequestOptionKey { static let defaultValue = "" }
    private enum Side: Hashable { case left, right }
    private enum Unencodable: RequestOptionKey { static let defaultValue: Side? = nil }

    /// Its loader at `.exchange` signs for the tenant.
    private static func rig(_ cache: HTTPCache, _ tally: Tally) -> Rig {
        let rig = Rig(advances: false) {
            $0.cache = cache
            $0.insert(.modifyRequest { $0.headers["X-Tenant"] = $0[Tenant.self] }, at: .exchange)
        }
        rig.mock.on(.get, "/x") { .text("\($0.headers["X-Tenant"] ?? "") \(tally.enter())", headers: ["Cache-Control": "max-age=60"]) }
        return rig
    }

    @Test("a stored response is for requests with the same options only, in memory and in a folder")
    func options() async throws {
        try await withFolder { (folder) async throws in
            let tally = Tally()
            for round in 0..<2 {
                let rig = Self.rig(HTTPCache(memoryLimit: 1 << 20, storage: CacheFolder(folder, limit: 1 << 20)), tally)
                // The second manager finds them in the folder.
                for (tenant, text) in [("a", "a 0"), ("b", "b 1"), ("", " 2"), ("a", "a 0"), ("b", "b 1")] {
                    let response = try await rig.ness.get("x").set(option: Tenant.self, to: tenant).response()
                    #expect(response.text == text)
                    if round == 1 { #expect(response.source == .cache) }
                }
            }
        }
    }

    @Test("responses to requests with an option that cannot be encoded stay in memory") func unencodable() async throws {
        try await withFolder { (folder) async throws in
            let tally = Tally(), rig = Self.rig(HTTPCache(memoryLimit: 1 << 20, storage: CacheFolder(folder, limit: 1 << 20)), tally)
            let left = rig.ness.get("x").set(option: Unencodable.self, to: .left)
            #expect(try await left.text() == " 0")
            #expect(try await rig.ness.get("x").set(option: Unencodable.self, to: .right).text() == " 1")
            #expect(try await left.text() == " 0")
            let other = Self.rig(HTTPCache(memoryLimit: 1 << 20, storage: CacheFolder(folder, limit: 1 << 20)), tally)
            #expect(try await other.ness.get("x").set(option: Unencodable.self, to: .left).text() == " 2")
            #expect(try await other.ness.get("x").text() == " 3")
        }
    }

    @Test("a request with a loader at .exchange neither gets nor leaves a stored response") func ownLoader() async throws {
        let tally = Tally(), rig = Self.rig(HTTPCache(memoryLimit: 1 << 20), tally)
        let changed = rig.ness.get("x").add(loaders: [.modifyRequest { $0.headers["X-Tenant"] = "own" }], at: .exchange)
        #expect(try await changed.text() == "own 0")
        #expect(try await rig.ness.get("x").text() == " 1")
        #expect(try await changed.text() == "own 2")
        #expect(try await rig.ness.get("x").text() == " 1")
    }

    @Test("a loader at .exchange of the manager may set an option: the response is stored, and a 304 confirms it") func optionBelow()
        async throws
    {
        let tally = Tally()
        let rig = Rig(advances: false) {
            $0.cache = HTTPCache(memoryLimit: 1 << 20)
            $0.insert(.modifyRequest { $0[Tenant.self] = "set below" }, at: .exchange)
        }
        rig.mock.on(.get, "/x") { request in
            tally.enter()
            if request.headers["If-None-Match"] == "\"1\"" { return .status(304) }
            return .text("one", headers: ["Cache-Control": "no-cache", "ETag": "\"1\""])
        }
        for count in 1...2 {
            #expect(try await rig.ness.get("x").text() == "one")
            #expect(tally.total == count)
        }
    }

    @Test("a stored response serves requests with other limits, networks and queues") func exchangeSettings() async throws {
        let tally = Tally(), rig = Self.rig(HTTPCache(memoryLimit: 1 << 20), tally)
        #expect(try await rig.ness.get("x").text() == " 0")
        let other = rig.ness.get("x").set(maximumResponseBytes: 1).set(timeout: .seconds(1), connectTimeout: .seconds(1))
            .set(allowsCellularAccess: false).withoutQueueing().set(isIdempotent: false)
        #expect(try await other.text() == " 0")
    }
}
