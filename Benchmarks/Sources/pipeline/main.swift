// The cost of the library alone, over a transport that responds immediately: processor time and allocations of 64 concurrent GETs, of
// loaders that do nothing, and of a response from the memory cache; and the memory of a request that waits for a response.
//   swift run -c release --package-path Benchmarks pipeline
import Allocations
import Foundation
import Measure
import NessHTTP
import NessTesting
import Upstream

let width = 64
let count = isQuick ? 12_800 : 64_000
/// The number of empty loaders, so that the noise of one is a fraction.
let loaderCount = 10

/// A transport that responds immediately. A cache may store the response.
struct Instant: Transport {
    private let body = Data(Upstream.text.utf8)

    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try await receive(.head(statusCode: 200, headers: ["Cache-Control": "max-age=3600", "Content-Type": "application/json"]))
        try await receive(.body(body))
    }
}

/// A loader that does nothing.
struct Empty: HTTPLoader {
    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse { try await next(request) }
}

@Sendable func get(_ count: Int, _ url: String, over ness: Ness) async throws {
    for _ in 0..<count {
        let data = try await ness.httpRequest(.get, withUrl: url).dataRequest().value.responseData
        precondition(data.count == Upstream.bodySize)
    }
}

/// Sends `count` requests, of which 64 are concurrent. Their URLs differ, because equal requests would share a response.
@Sendable func getTogether(over ness: Ness) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<width { group.addTask { try await get(count / width, "https://mock.test/\(index)", over: ness) } }
        try await group.waitForAll()
    }
}

/// Returns the number of allocations for each of `count` requests.
func allocationsEach(_ body: () async throws -> Void) async throws -> Double {
    try await body()
    allocations_begin()
    try await body()
    return Double(allocations_end().count) / Double(count)
}

/// Returns the memory of a request whose exchange waits for a response, in KiB.
func pendingKibibytes() async throws -> Double {
    let total = 10_000, batch = Batch()
    let ness = Ness {
        $0.transport = batch
        $0.maximumConnectionsPerHost = total
        $0.insert(batch, at: .exchange)
    }
    let request = ness.httpRequest(.post, withUrl: "https://mock.test/x")
    let arrived = TestGate(), answers = TestGate()
    batch.begin(total, arrived: arrived, answers: answers)
    allocations_begin()
    let promises = (0..<total).map { _ in request.dataRequest() }
    await arrived.wait()
    let bytes = allocations_end().bytes
    answers.open()
    for promise in promises { _ = try await promise.value }
    return Double(bytes) / Double(total) / 1_024
}

let plain = Ness {
    $0.transport = Instant()
    $0.maximumConnectionsPerHost = width
}
let loaded = Ness {
    $0.transport = Instant()
    $0.maximumConnectionsPerHost = width
    $0.loaders = Array(repeating: Empty(), count: loaderCount)
}
let cached = Ness {
    $0.transport = Instant()
    $0.cache = HTTPCache(memoryLimit: 1 << 20)
}
let url = "https://mock.test/cached"
try await get(1, url, over: cached)
let source = try await cached.httpRequest(.get, withUrl: url).dataRequest().value.message.source
precondition(source == .cache)

let costs = try await Rounds.measure(
    rounds(5),
    [
        ("plain", { try await getTogether(over: plain) }),
        ("loaded", { try await getTogether(over: loaded) }),
        ("cached", { try await get(count, url, over: cached) }),
    ])
let names = [("Ness", "plain"), ("Ness with ten empty loaders", "loaded"), ("Ness, from the memory cache", "cached")]
for (name, key) in names {
    let cpu = costs.micros(key, per: count, of: \.processorSeconds)
    try Measured("CPU of a GET without a network", "µs per GET", .less, name, cpu).report()
}
let allocated = try await [
    allocationsEach { try await getTogether(over: plain) }, allocationsEach { try await getTogether(over: loaded) },
    allocationsEach { try await get(count, url, over: cached) },
]
if allocated[0] > 0 {
    for ((name, _), value) in zip(names, allocated) {
        try Measured("Allocations of a GET without a network", "per GET", .less, name, [value]).report()
    }
    try await Measured("Memory of a request that waits for a response", "KiB", .less, "Ness", [pendingKibibytes()]).report()
}
