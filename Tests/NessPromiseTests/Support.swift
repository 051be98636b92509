import Dispatch
import NessPromise

struct Failure: Error, Equatable {
    var name = "failure"
}

extension DispatchQueue {
    /// Returns when all earlier closures of this serial queue have run.
    func flush() async {
        await withCheckedContinuation { continuation in async { continuation.resume() } }
    }

    /// Runs a closure on the queue and waits for it.
    func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in async { continuation.resume(returning: body()) } }
    }
}

extension Promise {
    /// Waits for the outcome. The error is cast to the given type.
    func failure<E: Error>(as type: E.Type) async -> E? {
        do {
            _ = try await value
            return nil
        } catch {
            return error as? E
        }
    }
}
