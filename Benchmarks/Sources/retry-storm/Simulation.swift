import Foundation
import NessHTTP
import NessTesting

/// The run of one retry policy.
struct Simulation {
    /// The next event of a request: a delay before a retry, or its end.
    private enum Step: Sendable {
        case waits(Duration)
        case ended
    }

    /// Tells the driver the next event of the one request that is not waiting.
    private struct Reporter: RequestObserver {
        let report: AsyncStream<Step>.Continuation
        func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt) {
            report.yield(.waits(delay))
        }
        func requestDidEnd(_ request: HTTPRequest) { report.yield(.ended) }
    }

    /// Counts requests, and responds with 503 during the failure.
    private final class Server: Transport, @unchecked Sendable {
        // The lock guards `perSecond`.
        private let lock = NSLock()
        private var perSecond = Array(repeating: 0, count: length)
        private let clock: ManualClock

        init(_ clock: ManualClock) { self.clock = clock }

        var counts: [Int] { lock.withLock { perSecond } }

        func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
            let second = Int(clock.now.offset / .seconds(1))
            lock.withLock { if second < length { perSecond[second] += 1 } }
            try await receive(.head(statusCode: failure.contains(second) ? 503 : 200, headers: [:]))
        }
    }

    private let clock = ManualClock()
    private let server: Server
    private let ness: Ness
    private let control: (any RetryControl)?
    private let steps: AsyncStream<Step>

    init(_ policy: Policy) {
        let (steps, report) = AsyncStream<Step>.makeStream()
        let server = Server(clock), clock = clock
        self.server = server
        self.steps = steps
        control = policy.control
        ness = Ness {
            $0.transport = server
            $0.clock = clock
            $0.retryBudget = policy.budget
            $0.observers = [Reporter(report: report)]
        }
    }

    /// Runs the simulation. Returns the number of requests that reached the server in each second.
    func run() async throws -> [Int] {
        var starts = Self.starts()
        /// The times at which waiting requests wake, the latest first.
        var wakes: [Duration] = []
        var steps = steps.makeAsyncIterator()
        while true {
            let isStart = (starts.last?.time ?? .seconds(length)) < (wakes.last ?? .seconds(length))
            guard let time = isStart ? starts.last?.time : wakes.last, time < .seconds(length) else { break }
            clock.advance(by: time - clock.now.offset)
            if isStart {
                ness.httpRequest(withUrl: "https://server.test/\(starts.removeLast().client)").set(retry: control).dataRequest()
            } else {
                wakes.removeLast()
            }
            guard case .waits(let delay)? = await steps.next() else { continue }
            let asleep = wakes.count + 1
            await clock.waitUntil { $0.sleeperCount == asleep }
            let wake = time + delay
            wakes.insert(wake, at: wakes.partitioned { $0 > wake })
        }
        await ness.reset()
        return server.counts
    }

    /// Returns the start times of all requests with their clients, the latest first.
    private static func starts() -> [(time: Duration, client: Int)] {
        let random = SeededRandom(seed: 7)
        var starts: [(time: Duration, client: Int)] = []
        for client in 0..<clients {
            let phase = Duration.seconds(random.next(in: 0...Double(period)))
            for round in 0..<(length / period) { starts.append((phase + .seconds(round * period), client)) }
            // The microseconds keep the starts distinct.
            starts.append((.seconds(failure.lowerBound) + .microseconds(client), client))
        }
        return starts.sorted { $0.time > $1.time }
    }
}

extension Array {
    /// Returns the first index whose element does not meet a condition that all earlier elements meet.
    fileprivate func partitioned(_ isBefore: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// A random number generator that gives the same numbers in every run (SplitMix64).
final class SeededRandom: @unchecked Sendable {
    // The lock guards `state`.
    private let lock = NSLock()
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    func next(in range: ClosedRange<Double>) -> Double {
        let bits = lock.withLock {
            state &+= 0x9E37_79B9_7F4A_7C15
            return state
        }
        var mixed = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        return range.lowerBound + Double(mixed >> 11) / 9_007_199_254_740_992 * (range.upperBound - range.lowerBound)
    }
}
