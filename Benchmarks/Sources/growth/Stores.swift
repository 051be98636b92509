import Foundation
import NessHTTP
import NessTesting
import Synchronization
import Upstream

/// Requests that meet what earlier ones have left: cookies, cached responses, groups, files.
extension Kind {
    static let stores = [
        Kind(plot: plotOfStores, name: "a GET with as many cookies in the jar", sizes: [10, 100, 1_000, 3_000]) { count in
            let jar = CookieJar()
            // A site has up to 180.
            for index in 0..<count {
                guard let cookie = Cookie(name: "name\(index)", value: "value", domain: "site\(index / 10).test") else { continue }
                jar.insert(cookie)
            }
            let ness = manager {
                $0.transport = Immediate(headers: ["Set-Cookie": "name0=other"])
                $0.cookies = jar
            }
            return gets(1_000, by: ness) { "https://site\($0 % max(1, count / 10)).test/x" }
        },
        Kind(plot: plotOfStores, name: "a hit among as many responses in the memory cache") { count in
            let ness = manager {
                $0.transport = Immediate(headers: ["Cache-Control": "max-age=3600"])
                $0.cache = HTTPCache(memoryLimit: 1 << 30)
            }
            try await gets(count, by: ness) { "https://mock.test/\($0)" }.run()
            return gets(1_000, by: ness) { "https://mock.test/\($0 % count)" }
        },
        Kind(plot: plotOfStores, name: "a response that the full memory cache stores") { count in
            let ness = manager {
                $0.transport = Immediate(headers: ["Cache-Control": "max-age=3600"])
                // A response without a body counts some 600 bytes.
                $0.cache = HTTPCache(memoryLimit: 600 * count)
            }
            let number = Atomic(0)
            let next: @Sendable (Int) -> String = { _ in "https://mock.test/\(number.add(1, ordering: .relaxed).newValue)" }
            try await gets(2 * count, by: ness, next).run()
            return gets(1_000, by: ness, next)
        },
        Kind(plot: plotOfStores, name: "a hit among as many responses in a folder", sizes: [10, 100, 1_000]) { count in
            let folder = temporaryFolder()
            let ness = manager {
                $0.transport = Immediate(headers: ["Cache-Control": "max-age=3600"])
                $0.cache = HTTPCache(memoryLimit: 0, storage: CacheFolder(folder, limit: 1 << 30))
            }
            try await gets(count, by: ness) { "https://mock.test/\($0)" }.run()
            return gets(1_000, by: ness) { "https://mock.test/\($0 % count)" }
        },
        Kind(plot: plotOfStores, name: "a download beside as many others", sizes: [10, 100, 1_000], unitsOfRound: 1_000) { count in
            let batch = Batch(chunks: 1)
            let ness = manager {
                $0.transport = batch
                $0.insert(batch, at: .exchange)
            }
            return Work(units: count) {
                let folder = temporaryFolder(), arrived = TestGate(), answers = TestGate()
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                batch.begin(count, arrived: arrived, answers: answers)
                let promises = (0..<count).map {
                    ness.httpRequest(.get, withUrl: "https://mock.test/\($0)").downloadRequest(
                        forSavedLocation: folder.appendingPathComponent("\($0)"))
                }
                await arrived.wait()
                answers.open()
                for promise in promises { _ = try await promise.value }
                try FileManager.default.removeItem(at: folder)
            }
        },
        Kind(plot: plotOfStores, name: "a GET, with a group for each path") { count in
            let ness = manager {
                $0.transport = Immediate()
                $0.limitGroup = { LimitGroup($0.url.path, maximumConcurrentRequests: 4, circuitBreaker: CircuitBreakerLimit()) }
            }
            return gets(max(1_000, count), by: ness) { "https://mock.test/\($0 % count)" }
        },
        Kind(plot: plotOfStores, name: "an observer of one GET", sizes: [10, 100, 1_000]) { count in
            struct Silent: RequestObserver {}
            let ness = manager {
                $0.transport = Immediate()
                $0.observers = Array(repeating: Silent(), count: count)
            }
            let work = gets(10, by: ness) { _ in "https://mock.test/x" }
            return Work(units: 10 * count, run: work.run)
        },
    ]

    private static let plotOfStores = "Requests that meet what others have left"

    private static func temporaryFolder() -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent("ness-growth-\(UUID().uuidString)", isDirectory: true)
    }

    /// Sends GETs one after the other.
    private static func gets(_ count: Int, by ness: Ness, _ url: @escaping @Sendable (Int) -> String) -> Work {
        Work(units: count) {
            for index in 0..<count {
                let status = try await ness.httpRequest(.get, withUrl: url(index)).dataRequest().value.message.statusCode
                precondition(status == 200)
            }
        }
    }
}
