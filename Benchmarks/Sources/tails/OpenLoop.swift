import Foundation
import Synchronization

/// Sends requests at a fixed rate, whether or not earlier ones have ended. A request's latency counts from the time at which it was due, so a
/// client that falls behind can't hide it.
struct OpenLoop {
    /// The number of requests a second.
    let rate: Double
    let count: Int

    /// The latencies in milliseconds, the shortest first, of the requests that succeeded.
    func latencies(_ send: @escaping @Sendable (Int) async throws -> Bool) async -> [Double] {
        let latencies = Latencies(count)
        let start = ContinuousClock.now.advanced(by: .milliseconds(10))
        let sender = Thread { [rate, count] in
            for number in 0..<count {
                let due = start.advanced(by: .seconds(Double(number) / rate))
                let wait = due - .now
                if wait > .zero { usleep(useconds_t(wait / .microseconds(1))) }
                Task {
                    let isCounted = (try? await send(number)) ?? false
                    latencies.end(isCounted ? (ContinuousClock.now - due) / .milliseconds(1) : nil)
                }
            }
        }
        sender.start()
        return await latencies.all().sorted()
    }
}

/// Collects the latencies of so many requests.
private final class Latencies: Sendable {
    private struct State: Sendable {
        var left: Int
        var values: [Double] = []
        var continuation: CheckedContinuation<[Double], Never>?
    }

    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(left: count)) }

    /// Notes the end of a request.
    /// - Parameter latency: Its latency; `nil` if it does not count.
    func end(_ latency: Double?) {
        let (continuation, values): (CheckedContinuation<[Double], Never>?, [Double]) = state.withLock { state in
            state.left -= 1
            if let latency { state.values.append(latency) }
            return state.left == 0 ? (state.continuation.take(), state.values) : (nil, [])
        }
        continuation?.resume(returning: values)
    }

    /// The latencies, once all requests have ended.
    func all() async -> [Double] {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.left > 0 { state.continuation = continuation }
                return state.left == 0
            }
            if isOver { continuation.resume(returning: state.withLock(\.values)) }
        }
    }
}

/// Returns a percentile of sorted numbers; 0 for none.
func percentile(_ percent: Double, of sorted: [Double]) -> Double {
    sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * percent / 100))]
}
