// Counts the allocations and tasks of a GET over a transport that responds immediately, by a promise and awaited, of another caller of an
// exchange, and of a response from the memory cache, and the memory of what waits: for a response, for that of another caller, for a chunk
// of a stream, for a retry. Counts do not depend on the machine's load. Called by `.ci/allocations`, which holds the budget.
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

/// Opens a gate when it was reached so many times.
final class Arrivals: Sendable {
    let gate = TestGate()
    private let left: Mutex<Int>

    init(_ count: Int) { left = Mutex(count) }

    func add() {
        let isLast = left.withLock { left in
            left -= 1
            return left == 0
        }
        if isLast { gate.open() }
    }
}

/// Lets callers share an exchange.
struct Joining: DuplicatedHandler {
    let callers: Arrivals

    func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision {
        callers.add()
        return .useBothCompletion
    }
}

/// Sends requests that all share one exchange, which ends when the last of them has joined.
@Sendable func share(_ count: Int) async throws {
    let callers = Arrivals(count - 1)
    let ness = Ness {
        $0.transport = Instant(gate: callers.gate)
        $0.duplicatedHandler = Joining(callers: callers)
    }
    let request = ness.httpRequest(.get, withUrl: "https://mock.test/x")
    let promises = (0..<count).map { _ in request.dataRequest() }
    for promise in promises { _ = try await promise.value }
}

/// Responds with a status when a gate opens, or with the head before.
struct Slow: Transport {
    var status = 200
    var sendsHead = false
    let gate: TestGate
    var arrivals: Arrivals?

    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        if sendsHead { try await receive(.head(statusCode: status, headers: [:])) }
        arrivals?.add()
        await gate.wait()
        if !sendsHead { try await receive(.head(statusCode: status, headers: [:])) }
    }
}

/// Returns the memory of each of `count` requests that wait, in KiB.
/// - Parameters:
///   - waiting: Is reached by each request that waits.
///   - send: Sends a request. Returns the task that waits for it; `nil` without one.
func kibibytes(
    _ count: Int, waiting: Arrivals, _ ness: Ness, by method: HTTPMethod = .post, _ send: (RequestBuilder) -> Task<Void, Never>?
) async -> Double {
    let request = ness.httpRequest(method, withUrl: "https://mock.test/x").set(isIdempotent: true)
    allocations_begin()
    let tasks = (0..<count).map { _ in send(request) }
    // The last of them is about to wait.
    await waiting.gate.wait()
    let bytes = allocations_end().bytes
    ness.dropAllRequests()
    for task in tasks { await task?.value }
    return Double(bytes) / Double(count) / 1_024
}

/// Sends a request and keeps no promise.
@Sendable func start(_ request: RequestBuilder) -> Task<Void, Never>? {
    _ = request.dataRequest()
    return nil
}

@Sendable func awaited(_ request: RequestBuilder) -> Task<Void, Never>? { Task { _ = try? await request.response() } }

@Sendable func streamed(_ request: RequestBuilder) -> Task<Void, Never>? {
    Task { do { for try await _ in request.streamRequest().chunks {} } catch {} }
}

/// A manager whose requests wait for a response, or for its body.
func waitingForResponse(sendsHead: Bool = false, _ arrivals: Arrivals) -> Ness {
    Ness {
        $0.transport = Slow(sendsHead: sendsHead, gate: TestGate(), arrivals: arrivals)
        $0.maximumConnectionsPerHost = .max
    }
}

/// A manager whose requests wait for their second attempt.
func waitingForRetry(_ arrivals: Arrivals) -> Ness {
    let gate = TestGate()
    gate.open()
    return Ness {
        $0.transport = Slow(status: 503, gate: gate)
        $0.retryBudget = RetryBudget(minimum: .max)
        $0.retryControl = .decide { _ in
            arrivals.add()
            return .retryAfter(3_600)
        }
    }
}

/// A manager whose requests share an exchange that waits for its response.
func waitingForOthers(_ arrivals: Arrivals) -> Ness {
    Ness {
        $0.transport = Slow(gate: TestGate())
        $0.duplicatedHandler = Joining(callers: arrivals)
    }
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
let (responses, streams, retries, awaitedRetries) = (Arrivals(count), Arrivals(count), Arrivals(count), Arrivals(count))
let others = Arrivals(count - 1)
let waiting = [
    ("response", await kibibytes(count, waiting: responses, waitingForResponse(responses), start)),
    ("member", await kibibytes(count, waiting: others, waitingForOthers(others), by: .get, start)),
    ("stream", await kibibytes(count, waiting: streams, waitingForResponse(sendsHead: true, streams), streamed)),
    ("retry", await kibibytes(count, waiting: retries, waitingForRetry(retries), start)),
    ("awaitedRetry", await kibibytes(count, waiting: awaitedRetries, waitingForRetry(awaitedRetries), awaited)),
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
