import Dispatch

/// Runs a closure on its own thread, so that the closure may block.
package func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        DispatchQueue(label: "thread").async { continuation.resume(returning: body()) }
    }
}

private let mainKey: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
}()

/// Returns true on the main queue. `Thread.isMainThread` is no help: on Linux another thread serves the main queue.
package func isOnMainQueue() -> Bool { DispatchQueue.getSpecific(key: mainKey) == true }
