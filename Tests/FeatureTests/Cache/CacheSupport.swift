import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// A manager with a cache over a mock. The clock stands still at `CacheRig.start` until a test moves it.
struct CacheRig {
    /// Sun, 06 Nov 1994 08:49:37 GMT.
    static let start = Date(timeIntervalSince1970: 784_111_777)

    let cache: HTTPCache
    let folder: CacheFolder?
    let rig: Rig
    /// Counts the stored responses.
    let stored = Tally()

    init(
        memoryLimit: Int = 1 << 20, folder: (url: URL, limit: Int)? = nil, storage: (any CacheStorage)? = nil,
        startingAt start: Date = CacheRig.start,
        _ configure: (inout Ness.Configuration) -> Void = { _ in }, willAccess: @escaping @Sendable (CacheFolder.Access) -> Void = { _ in }
    ) {
        let folder = folder.map { CacheFolder($0.url, limit: $0.limit, willAccess: willAccess) }
        let cache = HTTPCache(
            memoryLimit: memoryLimit, storage: folder ?? storage, wallClock: { start }, didStore: { [stored] in stored.enter() })
        self.cache = cache
        self.folder = folder
        rig = Rig(advances: false) { configuration in
            configuration.cache = cache
            configure(&configuration)
        }
    }

    var mock: MockTransport { rig.mock }
    var ness: Ness { rig.ness }
    /// The number of requests that reached the server.
    var asked: Int { rig.mock.requests.count }

    /// The size of the folder's files, in bytes.
    func diskSize() async -> Int { await folder?.size() ?? 0 }

    func advance(_ seconds: Int) { rig.clock.advance(by: .seconds(seconds)) }

    /// Answers the requests for a path with "1", "2" and so on.
    func count(at path: String = "/x", status: Int = 200, _ headers: HTTPHeaders) {
        let tally = Tally()
        mock.on(.get, path) { _ in .text("\(tally.enter() + 1)", status: status, headers: headers) }
    }

    @discardableResult
    func get(_ path: String = "x", _ headers: HTTPHeaders = [:]) async throws -> HTTPResponse {
        try await ness.httpRequest(withUrl: path).set(headers: headers).dataRequest().value.message
    }

    /// Sends two equal requests, one after the other, and returns the bodies of their responses.
    func twice(_ path: String = "x", _ headers: HTTPHeaders = [:], after seconds: Int = 0) async throws -> [String] {
        let first = try await get(path, headers).text
        advance(seconds)
        return [first, try await get(path, headers).text]
    }
}
