// The cost for each of 10,000 callers to share an exchange in flight, including joining and settling. For comparison: tasks that await one
// shared task. The exchange ends when all callers have joined.
//   swift run -c release --package-path Benchmarks coalescing
import Foundation
import Measure
import NessHTTP
import NessTesting

let count = 10_000

/// A transport whose one exchange is answered when a gate opens.
struct Gated: Transport {
    let gate: TestGate
    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        await gate.wait()
        try await receive(.head(statusCode: 200, headers: [:]))
    }
}

/// Merges all requests, and opens a gate when the last caller has joined. The manager does not ask about the first caller.
final class Counting: DuplicatedHandler, @unchecked Sendable {
    // The lock guards `left`.
    private let lock = NSLock()
    private var left = count - 1
    private let gate: TestGate

    init(_ gate: TestGate) { self.gate = gate }

    func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision {
        let isLast = lock.withLock {
            left -= 1
            return left == 0
        }
        if isLast { gate.open() }
        return .useBothCompletion
    }
}

@Sendable func requests() async throws {
    let gate = TestGate()
    let ness = Ness {
        $0.transport = Gated(gate: gate)
        $0.duplicatedHandler = Counting(gate)
    }
    let request = ness.httpRequest(withUrl: "https://mock.test/x")
    let promises = (0..<count).map { _ in request.dataRequest() }
    for promise in promises {
        let status = try await promise.value.message.statusCode
        precondition(status == 200)
    }
}

@Sendable func sharedTask() async throws {
    let gate = TestGate()
    let shared = Task {
        await gate.wait()
        return 200
    }
    let tasks = (0..<count).map { _ in Task { await shared.value } }
    gate.open()
    for task in tasks {
        let status = await task.value
        precondition(status == 200)
    }
}

let times = try await medians(rounds: 9, [("dataRequest()", { try await requests() }), ("tasks", { try await sharedTask() })])
let each = times.mapValues { $0 / .microseconds(1) / Double(count) }
print("\(count) callers of one exchange by dataRequest(): \(decimal(each["dataRequest()"] ?? 0)) µs a caller (at most 8.00 is the goal)")
print("\(count) tasks that await one shared task: \(decimal(each["tasks"] ?? 0)) µs a caller")
exit((each["dataRequest()"] ?? .infinity) <= 8 ? 0 : 1)
