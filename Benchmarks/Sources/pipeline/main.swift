// The cost of the library alone, over a transport that answers at once: processor time and allocations of a GET with 64 at once, of a loader
// of the application that does nothing, and of a response from the memory cache; and the memory of a request that waits for its answer.
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

/// A transport that answers at once, with a response that may be stored.
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

/// Sends `count` requests, of which 64 run at once. Their URLs differ, because equal requests would share a response.
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

/// Returns the memory of a request whose exchange waits for an answer, in KiB.
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
    rounds(7),
    [
        ("plain", { try await getTogether(over: plain) }),
        ("loaded", { try await getTogether(over: loaded) }),
        ("cached", { try await get(count, url, over: cached) }),
    ])
let each = costs.micros("plain", per: count, of: \.processorSeconds)
let eachLoaded = costs.micros("loaded", per: count, of: \.processorSeconds)
try Row("the pipeline alone, 64 at once: CPU µs a GET", each, .atMost(6), missedBecause: Reason.asyncFrames).report()
try Row("an empty loader: CPU µs", zip(each, eachLoaded).map { ($1 - $0) / Double(loaderCount) }, .atMost(0.3)).report()
let cachedMicros = costs.micros("cached", per: count)
try Row("a response from the memory cache, sequential: µs", cachedMicros, .atMost(5), missedBecause: Reason.asyncFrames).report()
try Row("a response from the memory cache, sequential: CPU µs", costs.micros("cached", per: count, of: \.processorSeconds)).report()
let allocated = try await allocationsEach { try await getTogether(over: plain) }
if allocated > 0 {
    let allocatedLoaded = try await allocationsEach { try await getTogether(over: loaded) }
    let allocatedCached = try await allocationsEach { try await get(count, url, over: cached) }
    try Row("the pipeline alone, 64 at once: allocations a GET", [allocated], .atMost(40), missedBecause: Reason.asyncFrames).report()
    try Row("an empty loader: allocations", [(allocatedLoaded - allocated) / Double(loaderCount)], .atMost(2)).report()
    try Row("a response from the memory cache: allocations", [allocatedCached]).report()
    var kibibytes: [Double] = []
    for _ in 0..<rounds(5) { kibibytes.append(try await pendingKibibytes()) }
    try Row("memory of a pending request: KiB", kibibytes, .atMost(3), missedBecause: Reason.asyncFrames).report()
}
