// A crawler with a cache on disk: pages a second without a cache, with an empty one that stores each page, and with one that revalidates
// each page, so that the server responds with 304. 16 requests are concurrent.
//   swift run -c release --package-path Benchmarks crawler [PAGES]
import Foundation
import Measure
import NessHTTP
import Synchronization
import Upstream

try await Upstream.serveIfAsked()
let count = CommandLine.arguments.dropFirst().lazy.compactMap { Int($0) }.first ?? (isQuick ? 2_000 : 10_000)
let upstream = try await Upstream.start()
let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ness-crawler-\(UUID().uuidString)", isDirectory: true)

/// Fetches all pages with a new manager.
func crawl(_ cache: HTTPCache?, expecting source: HTTPResponse.Source) async throws {
    let ness = Ness {
        $0.cache = cache
        $0.maximumConnectionsPerHost = 16
        $0.baseURL = upstream.url
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<16 {
            group.addTask {
                for number in stride(from: worker, to: count, by: 16) {
                    let response = try await ness.httpRequest(.get, withUrl: "page/\(number)").dataRequest().value.message
                    guard response.body.count == Upstream.pageSize, response.source == source else {
                        throw Failed(reason: "page \(number): \(response.statusCode), \(response.body.count) bytes from \(response.source)")
                    }
                }
            }
        }
        try await group.waitForAll()
    }
    await ness.shutdown(within: .zero)
}

/// The number of the round. Each round has a new folder, because ext4 is slow to create files right after it deleted others.
let round = Atomic(0)
/// A cache as a process finds it when it starts: nothing is in memory.
func openCache() -> HTTPCache {
    let folder = folder.appendingPathComponent("\(round.load(ordering: .relaxed))", isDirectory: true)
    return HTTPCache(memoryLimit: 1 << 20, storage: CacheFolder(folder, limit: 4 << 30))
}

let contenders: [(name: String, body: () async throws -> Void)] = [
    ("GETs without a cache", { try await crawl(nil, expecting: .network) }),
    (
        "Ness with a cache on disk, pages are stored",
        {
            round.add(1, ordering: .relaxed)
            try await crawl(openCache(), expecting: .network)
        }
    ),
    ("Ness with a cache on disk, pages are revalidated", { try await crawl(openCache(), expecting: .revalidated) }),
]
let costs = try await Rounds.measure(isQuick ? 1 : 3, contenders)
let question = "Crawl of pages of 16 KiB, 16 at a time"
// The revalidated pages are what the others are compared with.
for (name, _) in [contenders[0], contenders[2], contenders[1]] {
    try Measured(question, "pages per second", .more, name, costs.rates(name, of: count)).report()
}
try? FileManager.default.removeItem(at: folder)
upstream.stop()
exit(0)
