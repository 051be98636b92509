import Dispatch
import NessLock

extension DispatchQueue {
    /// Runs a closure on this queue, and suspends the task until it has returned. The closure may block: no thread that runs Swift tasks
    /// waits for it. It runs even if the task is canceled.
    /// - Parameter body: The closure.
    /// - Returns: The closure's value.
    /// - Throws: The closure's error.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        // The value goes through a lock. If the closure returns before the task has suspended, the runtime does not tell the thread
        // sanitizer that the task continues after the closure: see `.ci/thread-sanitizer`.
        let result = Lock<Result<Value, any Error>>(.failure(CancellationError()))
        await withUnsafeContinuation { continuation in
            async {
                let outcome = Result { try body() }
                result.withLock { $0 = outcome }
                continuation.resume()
            }
        }
        return try result.withLock { $0 }.get()
    }
}
