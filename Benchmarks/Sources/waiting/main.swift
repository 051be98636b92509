// The cost of a request that waits for its host behind 100 others, and behind 10,000. The queue costs the same. 10,000 requests in flight
// take more memory than the processor's caches hold.
//   swift run -c release --package-path Benchmarks waiting
import Foundation
import Measure
import NessHTTP
import NessTesting

let count = 10_000

/// A transport that answers every exchange once a gate is open.
struct Gated: Transport {
    let gate: TestGate
    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        await gate.wait()
        try await receive(.head(statusCode: 200, headers: [:]))
    }
}

/// Opens a gate when a given number of requests has reached the queue.
final class Arrivals: HTTPLoader, @unchecked Sendable {
    // The lock guards `left`.
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

/// Sends `count` requests over a single connection slot per host. `waiting` requests are in flight at a time.
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

/// Returns the processor time of one request, in microseconds. Other processes do not affect it.
func cost(waiting: Int) async throws -> Double {
    let start = clock()
    try await requests(waiting: waiting)
    return Double(clock() - start) / Double(CLOCKS_PER_SEC) * 1e6 / Double(count)
}

var costs: (few: [Double], many: [Double]) = ([], [])
for _ in 0..<9 {
    costs.few.append(try await cost(waiting: 100))
    costs.many.append(try await cost(waiting: 10_000))
}
let (few, many) = (costs.few.sorted()[4], costs.many.sorted()[4])
print("behind 100 others: \(decimal(few)) µs of a core a request; behind 10,000: \(decimal(many)) µs; \(decimal(many / few)) times as much")
