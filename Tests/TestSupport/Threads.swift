import Dispatch
import Foundation

/// Runs a closure on its own thread, so that the closure may block.
package func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        DispatchQueue(label: "thread").async { continuation.resume(returning: body()) }
    }
}

/// Suspends until a condition is met that no event reports, such as the number of readers that wait inside the library.
///
/// It polls on its own thread, because a spinning task keeps others from running. Where an event exists, use `TestGate`, `Log` or `Tally`.
package func untilTrue(_ condition: @escaping @Sendable () -> Bool) async {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            while !condition() { sched_yield() }
            continuation.resume()
        }
    }
}

private let mainKey: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
}()

/// Returns true on the main queue. `Thread.isMainThread` is no help: on Linux another thread serves the main queue.
package func isOnMainQueue() -> Bool { DispatchQueue.getSpecific(key: mainKey) == true }
