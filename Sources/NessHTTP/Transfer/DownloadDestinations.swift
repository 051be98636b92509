/// Which partial files a manager is at work on: two downloads must not share one, but one may follow another that is just being dropped.
final class DownloadDestinations: Sendable {
    private struct State: Sendable {
        /// Whether the one who is at work is about to end, and who waits for that.
        var busy: [String: (isEnding: Bool, waiting: [UnsafeContinuation<Void, Never>])] = [:]
    }

    private let state = Lock(State())

    /// Runs an operation on a file, alone.
    /// - Throws: `FileFailure` when another download is at work on it; what the operation throws.
    func withSole<Value: Sendable>(_ path: String, _ operation: @Sendable () async throws -> Value) async throws -> Value {
        while true {
            let hasIt: Bool = try state.withLock { state in
                guard let holder = state.busy[path] else {
                    state.busy[path] = (false, [])
                    return true
                }
                if !holder.isEnding { throw FileFailure("another download is at work on this destination") }
                return false
            }
            if hasIt { break }
            await waitUntilFree(path)
        }
        defer { leave(path) }
        return try await withTaskCancellationHandler {
            try await operation()
        } onCancel: {
            state.withLock { $0.busy[path]?.isEnding = true }
        }
    }

    /// Returns when nobody is at work on any file.
    func waitUntilIdle() async {
        while let path = state.withLock({ $0.busy.keys.first }) { await waitUntilFree(path) }
    }

    private func waitUntilFree(_ path: String) async {
        await withUnsafeContinuation { continuation in
            let isFree = state.withLock { state in
                if state.busy[path] == nil { return true }
                state.busy[path]?.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    private func leave(_ path: String) {
        let waiting = state.withLock { $0.busy.removeValue(forKey: path)?.waiting ?? [] }
        for continuation in waiting { continuation.resume() }
    }
}
