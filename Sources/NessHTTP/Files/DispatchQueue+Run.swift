import Dispatch

extension DispatchQueue {
    /// Runs a closure on this queue, and suspends the task until it has returned. The closure may block: no thread that runs Swift tasks
    /// waits for it. It runs even if the task is cancelled.
    /// - Parameter body: The closure.
    /// - Returns: The closure's value.
    /// - Throws: The closure's error.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Value, any Error>) in
            async { continuation.resume(with: Result { try body() }) }
        }
    }
}
