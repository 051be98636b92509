import Foundation
import NessHTTP
import NessTesting
import Synchronization
import Upstream

/// Requests that wait together. None shares an exchange.
extension Kind {
    static let waiting = [
        waits("for a response") { count in response(count) { _ in "https://mock.test/x" } },
        waits("for a response, each of another origin") { count in response(count) { "https://host\($0).test/x" } },
        waits("for a response, each a GET of one URL by another user") { response($0, .get, users: $0) { _ in "https://mock.test/x" } },
        waits("for a response, each with a deadline") { count in response(count, deadline: .seconds(3_600)) { _ in "https://mock.test/x" }
        },
        waits("for the one slot of a host") { queued($0, hosts: 1) },
        waits("for a slot, ten at each host") { queued($0, hosts: max(1, $0 / 10)) },
        waits("for the throttle", isCounted: false, throttled),
        waits("for a retry", retried),
        waits("for a refresh", refreshed),
        waits("for a chunk of a stream", streamed),
    ]

    private static func waits(
        _ what: String, isCounted: Bool = true, _ prepare: @escaping @Sendable (Int) async throws -> Work
    ) -> Kind {
        Kind(plot: "Requests that wait", name: "a request that waits \(what)", isCounted: isCounted, prepare: prepare)
    }

    private static func response(
        _ count: Int, _ method: HTTPMethod = .post, users: Int = 1, deadline: Duration? = nil, _ url: (Int) -> String
    ) -> Work {
        let batch = Batch()
        let ness = manager {
            $0.transport = batch
            $0.deadline = deadline
            $0.insert(batch, at: .exchange)
        }
        let requests = (0..<count).map { ness.httpRequest(method, withUrl: url($0)).set(header: "X-User", to: "\($0 % users)") }
        return Work(units: count) {
            let arrived = TestGate(), answers = TestGate()
            batch.begin(count, arrived: arrived, answers: answers)
            let promises = requests.map { $0.dataRequest() }
            await arrived.wait()
            answers.open()
            try await finish(promises)
        }
    }

    private static func queued(_ count: Int, hosts: Int) -> Work {
        let batch = Batch()
        let ness = manager {
            $0.transport = batch
            $0.maximumConnectionsPerHost = 1
        }
        let requests = (0..<hosts).map { ness.httpRequest(.post, withUrl: "https://host\($0).test/x") }
        return Work(units: count) {
            let answers = TestGate()
            batch.begin(0, arrived: TestGate(), answers: answers)
            let promises = (0..<count).map { requests[$0 % hosts].dataRequest() }
            try await ness.waitForRequests(count - hosts, at: .hostQueue)
            answers.open()
            try await finish(promises)
        }
    }

    @Sendable private static func throttled(_ count: Int) -> Work {
        let ness = manager {
            $0.transport = Immediate()
            $0.throttle = ThrottleLimit(rate: 20_000)
        }
        let request = ness.httpRequest(.post, withUrl: "https://mock.test/x")
        return Work(units: count) { try await finish((0..<count).map { _ in request.dataRequest() }) }
    }

    @Sendable private static func retried(_ count: Int) -> Work {
        let clock = ManualClock(), isUp = Mutex(false), arrivals = Arrivals()
        let ness = manager {
            $0.transport = Immediate { _ in isUp.withLock { $0 } ? 200 : 503 }
            $0.clock = clock
            $0.retryBudget = RetryBudget(minimum: .max)
            $0.retryControl = .decide { _ in .retryAfter(1) }
            $0.observers = [arrivals]
        }
        let request = ness.httpRequest(.post, withUrl: "https://mock.test/x").set(isIdempotent: true)
        return Work(units: count) {
            isUp.withLock { $0 = false }
            let gate = arrivals.begin(count)
            let promises = (0..<count).map { _ in request.dataRequest() }
            await gate.wait()
            isUp.withLock { $0 = true }
            let last = Task { try await finish(promises) }
            // The last of them may start its wait only now.
            let isOver = Mutex(false)
            Task {
                _ = try? await last.value
                isOver.withLock { $0 = true }
            }
            while !isOver.withLock({ $0 }) {
                clock.advance(by: .seconds(2))
                try await Task.sleep(for: .milliseconds(2))
            }
            try await last.value
        }
    }

    @Sendable private static func refreshed(_ count: Int) -> Work {
        let gates = Mutex(TestGate()), valid = Mutex(0)
        let ness = manager {
            // A manager's credential is for its base URL.
            $0.baseURL = URL(string: "https://mock.test/")
            $0.transport = Immediate { $0.headers["Authorization"] == "Bearer \(valid.withLock { $0 })" ? 200 : 401 }
            $0.authentication = RefreshableAuthentication(credential: 0) {
                ["Authorization": "Bearer \($0)"]
            } refresh: {
                stale, _ in
                await gates.withLock { $0 }.wait()
                return stale + 1
            }
        }
        let request = ness.httpRequest(.post, withUrl: "https://mock.test/x")
        return Work(units: count) {
            let gate = TestGate()
            gates.withLock { $0 = gate }
            valid.withLock { $0 += 1 }
            let promises = (0..<count).map { _ in request.dataRequest() }
            try await ness.waitForRequests(count, at: .refresh)
            gate.open()
            try await finish(promises)
        }
    }

    @Sendable private static func streamed(_ count: Int) -> Work {
        let batch = Batch(chunks: 2)
        let ness = manager {
            $0.transport = batch
            $0.insert(batch, at: .exchange)
        }
        let request = ness.httpRequest(.post, withUrl: "https://mock.test/x")
        return Work(units: count) {
            let arrived = TestGate(), answers = TestGate()
            batch.begin(count, arrived: arrived, answers: answers)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<count {
                    group.addTask {
                        var chunks = 0
                        for try await _ in request.streamRequest().chunks { chunks += 1 }
                        return chunks
                    }
                }
                await arrived.wait()
                answers.open()
                for try await chunks in group { precondition(chunks == 2) }
            }
        }
    }
}

/// Opens a gate when so many requests are about to wait for a retry.
final class Arrivals: RequestObserver {
    private let state = Mutex((left: 0, gate: TestGate()))

    func begin(_ count: Int) -> TestGate {
        let gate = TestGate()
        state.withLock { $0 = (count, gate) }
        return gate
    }

    func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt) {
        let full = state.withLock { state in
            state.left -= 1
            return state.left == 0 ? state.gate : nil
        }
        full?.open()
    }
}
