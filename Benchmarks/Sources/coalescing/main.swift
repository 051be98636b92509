// What it costs a caller to share an exchange that is on its way, joining and settling included, next to tasks that await one shared
// task. 10,000 callers; the exchange ends when all have joined.
//   swift run -c release --package-path Benchmarks coalescing
import Foundation
import Measure
import NessHTTP
import NessTesting

let count = 10_000

/// Answers its one exchange when a gate opens.
struct Gated: Transport {
    let gate: TestGate
    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) throws -> Void) async throws {
        await gate.wait()
        try receive(.head(statusCode: 200, headers: [:]))
    }
}

/// Merges everything, and opens a gate when the last caller has come: the first is not asked about.
final class Counting: DuplicatedHandler, @unchecked Sendable {
    // `left` is only touched under the lock.
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
