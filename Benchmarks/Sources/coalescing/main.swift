// Duplicate requests: 1 to 1,000 concurrent callers of the same GET, by one policy for duplicates after the other. Then the cost for each
// of 10,000 callers to share an exchange, including joining and settling, and that of tasks that await one shared task.
//   swift run -c release --package-path Benchmarks coalescing
// Fails if a caller costs more than twelve times such a task.
import Foundation
import Measure
import NessHTTP
import NessTesting
import Upstream

let count = 10_000

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
    let gate = TestGate(), batch = Batch()
    batch.begin(count, arrived: gate, answers: gate)
    let ness = Ness {
        $0.transport = batch
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

try await measureSharing()
let costs = try await Rounds.measure(rounds(9), [("dataRequest()", { try await requests() }), ("tasks", { try await sharedTask() })])
let question = "10,000 callers who share one response"
let own = Measured(question, "µs per caller", .less, "Ness", costs.micros("dataRequest()", per: count))
let task = Measured(question, "µs per caller", .less, "Swift tasks that await one task", costs.micros("tasks", per: count))
try own.report()
try task.report()
exit(own.value <= 12 * task.value ? 0 : 1)
