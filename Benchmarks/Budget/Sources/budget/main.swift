// Counts the allocations and tasks of a GET over a transport that responds immediately, by a promise and awaited, of another caller of an
// exchange, and of a response from the memory cache, and the memory of a request that waits for its next retry. Counts do not depend on the
// machine's load. Called by `.ci/allocations`, which holds the budget.
//   budget                                     prints the counts
//   budget NAME=ALLOCATIONS,TASKS NAME=KIB …   fails if a count is above its budget
//   budget profile get|awaited|caller|cache COUNT      repeats one of them, for a profiler
import Allocations
import Foundation
import NessHTTP
import NessTesting
import Synchronization

/// Responds immediately, with a response that may be stored. With a gate it waits first.
struct Instant: Transport {
    var gate: TestGate?
    private let body = Data(repeating: 7, count: 100)

    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        await gate?.wait()
        try await receive(.head(statusCode: 200, headers: ["Cache-Control": "max-age=3600", "Content-Type": "application/json"]))
        try await receive(.body(body))
    }
}

/// The average of `count` requests.
struct Cost {
    let allocations, tasks: Double

    init(of count: Int, _ body: () async throws -> Void) async throws {
        try await body()
        allocations_begin()
        try await body()
        let counted = allocations_end()
        allocations = Double(counted.count) / Double(count)
        tasks = Double(counted.tasks) / Double(count)
    }
}

let plain = Ness { $0.transport = Instant() }
let cached = Ness {
    $0.transport = Instant()
    $0.cache = HTTPCache(memoryLimit: 1 << 20)
}

@Sendable func get(_ count: Int, over ness: Ness) async throws {
    for _ in 0..<count { _ = try await ness.httpRequest(.get, withUrl: "https://mock.test/x").dataRequest().value }
}

@Sendable func awaitResponses(_ count: Int) async throws {
    for _ in 0..<count { _ = try await plain.httpRequest(.get, withUrl: "https://mock.test/x").response() }
}

/// Opens a gate once the given number of callers has joined.
final class Joining: DuplicatedHandler {
    private let gate: TestGate
    private let left: Mutex<Int>

    init(_ count: Int, gate: TestGate) {
        self.gate = gate
        left = Mutex(count)
    }

    func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision {
        let isLast = left.withLock { left in
            left -= 1
            return left == 0
        }
        if isLast { gate.open() }
        return .useBothCompletion
    }
}

/// Sends requests that all share one exchange, which ends when the last of them has joined.
@Sendable func share(_ count: Int) async throws {
    let gate = TestGate(), joining = Joining(count - 1, gate: gate)
    let ness = Ness {
        $0.transport = Instant(gate: gate)
        $0.duplicatedHandler = joining
    }
    let request = ness.httpRequest(.get, withUrl: "https://mock.test/x")
    let promises = (0..<count).map { _ in request.dataRequest() }
    for promise in promises { _ = try await promise.value }
}

/// Responds to each request with 503.
struct Unavailable: Transport {
    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try await receive(.head(statusCode: 503, headers: [:]))
    }
}

/// Opens a gate once the given number of requests waits for the next attempt.
final class Retries: RequestObserver {
    let gate = TestGate()
    private let left: Mutex<Int>

    init(_ count: Int) { left = Mutex(count) }

    func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt) {
        let isLast = left.withLock { left in
            left -= 1
            return left == 0
        }
        if isLast { gate.open() }
    }
}

/// Returns the memory of each of `count` requests that wait for their next retry, in KiB.
func kibibytesOfRetry(_ count: Int, _ send: @escaping @Sendable (RequestBuilder) -> Task<Void, Never>?) async -> Double {
    let retries = Retries(count)
    let ness = Ness {
        $0.transport = Unavailable()
        $0.retryBudget = RetryBudget(minimum: count)
        $0.retryControl = .decide { _ in .retryAfter(3_600) }
        $0.observers = [retries]
    }
    let request = ness.httpRequest(.post, withUrl: "https://mock.test/x").set(isIdempotent: true)
    allocations_begin()
    let tasks = (0..<count).map { _ in send(request) }
    await retries.gate.wait()
    // The last of them is about to sleep.
    let bytes = allocations_end().bytes
    ness.dropAllRequests()
    for task in tasks { await task?.value }
    return Double(bytes) / Double(count) / 1_024
}

var arguments = CommandLine.arguments.dropFirst()
if arguments.first == "profile", let count = arguments.last.flatMap({ Int($0) }) {
    switch arguments.dropFirst().first {
    case "awaited": try await awaitResponses(count)
    case "caller": try await share(count)
    case "cache": try await get(count, over: cached)
    default: try await get(count, over: plain)
    }
    exit(0)
}

let count = 2_000
let costs = [
    ("get", try await Cost(of: count) { try await get(count, over: plain) }),
    ("awaited", try await Cost(of: count) { try await awaitResponses(count) }),
    ("caller", try await Cost(of: count) { try await share(count) }),
    ("cache", try await Cost(of: count) { try await get(count, over: cached) }),
]
var isOver = false
for (name, cost) in costs {
    print("\(name): \(cost.allocations) allocations, \(cost.tasks) tasks")
    for argument in arguments where argument.hasPrefix(name + "=") {
        let limits = argument.dropFirst(name.count + 1).split(separator: ",").compactMap { Double($0) }
        guard limits.count == 2, cost.allocations > limits[0] || cost.tasks > limits[1] else { continue }
        print("\(name) is over its budget of \(limits[0]) allocations and \(limits[1]) tasks")
        isOver = true
    }
}
let waiting = [
    (
        "retry",
        await kibibytesOfRetry(count) {
            _ = $0.dataRequest(); return nil
        }
    ),
    ("awaitedRetry", await kibibytesOfRetry(count) { request in Task { _ = try? await request.response() } }),
]
for (name, size) in waiting {
    print("\(name): \(size) KiB while it waits")
    for argument in arguments where argument.hasPrefix(name + "=") {
        guard let limit = Double(argument.dropFirst(name.count + 1)), size > limit else { continue }
        print("\(name) is over its budget of \(limit) KiB")
        isOver = true
    }
}
exit(isOver ? 1 : 0)
