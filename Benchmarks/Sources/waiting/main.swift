// The processor time of a request with others in flight: with 1 to 50,000 at the transport, and with 100 and 10,000 in the queue of their
// host. The cost should not depend on their number, but 10,000 requests take more memory than the processor's caches hold.
//   swift run -c release --package-path Benchmarks waiting
import Measure
import NessHTTP
import NessTesting
import Upstream

let count = isQuick ? 10_000 : 50_000

/// Returns a contender that sends `count` requests, of which a given number is in flight at a time.
/// - Parameters:
///   - crowd: The number in flight.
///   - isQueued: True if the others wait in the queue of their host.
///   - areReads: True for reads of one URL by different users, which could share an exchange if their header fields were equal.
func contender(_ crowd: Int, isQueued: Bool = false, areReads: Bool = false) -> () async throws -> Void {
    let batch = Batch()
    let ness = Ness {
        $0.transport = batch
        $0.maximumConnectionsPerHost = isQueued ? 1 : crowd
        $0.insert(batch, at: .exchange)
    }
    let request = ness.httpRequest(areReads ? .get : .post, withUrl: "https://mock.test/x")
    return {
        for _ in 0..<(count / crowd) {
            let arrived = TestGate(), answers = TestGate()
            batch.begin(crowd, arrived: arrived, answers: answers)
            let promises = (0..<crowd).map { number in
                (areReads ? request.set(header: "X-User", to: "\(number)") : request).dataRequest()
            }
            if isQueued { try await ness.waitForRequests(crowd - 1, at: .hostQueue) } else { await arrived.wait() }
            answers.open()
            for promise in promises {
                let status = try await promise.value.message.statusCode
                precondition(status == 200)
            }
        }
    }
}

let crowds = [1, 100, 10_000] + (isQuick ? [] : [50_000])
let contenders =
    crowds.map { ("\(figure(Double($0))) in flight", contender($0)) }
    + [100, 10_000].map { ("\(figure(Double($0))) in the queue of their host", contender($0, isQueued: true)) }
    + [100, 10_000].map { ("\(figure(Double($0))) reads of one URL by different users", contender($0, areReads: true)) }
let costs = try await Rounds.measure(rounds(3), contenders)
for (name, _) in contenders {
    let cpu = costs.micros(name, per: count, of: \.processorSeconds)
    try Measured("CPU of a request of Ness among others, without a network", "µs per request", .less, name, cpu).report()
}
