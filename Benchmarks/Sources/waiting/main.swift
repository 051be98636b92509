// What a request costs that waits for its host behind 100 others, and behind 10,000: the same is the goal.
//   swift run -c release --package-path Benchmarks waiting
import Foundation
import Measure
import NessHTTP
import NessTesting

let count = 10_000

/// Answers every exchange when a gate is open.
struct Gated: Transport {
    let gate: TestGate
    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) throws -> Void) async throws {
        await gate.wait()
        try receive(.head(statusCode: 200, headers: [:]))
    }
}

/// Opens a gate when so many requests have come to the queue.
final class Arrivals: HTTPLoader, @unchecked Sendable {
    // `left` is only touched under the lock.
    private let lock = NSLock()
    private var left: Int
    private let gate: TestGate

    init(_ count: Int, _ gate: TestGate) { (left, self.gate) = (count, gate) }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let isLast = lock.withLock {
            left -= 1
            return left == 0
        }
        if isLast { gate.open() }
        return try await next(request)
    }
}

/// Sends `count` requests through one place at a host, so many at a time.
@Sendable func requests(waiting: Int) async throws {
    for _ in 0..<(count / waiting) {
        let gate = TestGate()
        let ness = Ness {
            $0.transport = Gated(gate: gate)
            $0.maximumConnectionsPerHost = 1
            $0.insert(Arrivals(waiting, gate), .before(.hostQueue))
        }
        let request = ness.httpRequest(.post, withUrl: "https://mock.test/x")
        let promises = (0..<waiting).map { _ in request.dataRequest() }
        for promise in promises {
            let status = try await promise.value.message.statusCode
            precondition(status == 200)
        }
    }
}

let times = try await medians(
    rounds: 9, [("100", { try await requests(waiting: 100) }), ("10,000", { try await requests(waiting: 10_000) })])
let each = times.mapValues { $0 / .microseconds(1) / Double(count) }
let (few, many) = (each["100"] ?? 0, each["10,000"] ?? .infinity)
print("behind 100 others: \(decimal(few)) µs a request; behind 10,000: \(decimal(many)) µs; \(decimal(many / few)) times as much")
