/// Which partial files a manager is at work on: two downloads must not share one, but one may follow another of the same source, or one that
/// is just being dropped. One that is paused, or waits for another attempt, keeps its file.
final class DownloadDestinations: Sendable {
    /// Who is at work on a file, or wants to be.
    private final class Holder: Sendable {
        let source: String?
        private let cancelled = Lock(false)

        init(_ source: String?) { self.source = source }

        /// Whether it is about to end.
        var isEnding: Bool { cancelled.withLock { $0 } }
        func end() { cancelled.withLock { $0 = true } }
    }

    /// A download that was at work on a file. Not held: a download that nobody has any more is over.
    private struct Keeper: Sendable {
        let source: String?
        weak var life: DownloadLife?
    }

    private struct State: Sendable {
        var busy: [String: (holder: Holder, waiting: [UnsafeContinuation<Void, Never>])] = [:]
        /// Which download was at a file last, for as long as it is not over.
        var kept: [String: Keeper] = [:]
    }

    private let state = Lock(State())

    /// Runs an operation on a file, alone.
    /// - Parameters:
    ///   - path: The file.
    ///   - source: What is fetched: the same waits for the other; nil for what never is the same.
    ///   - life: The download.
    /// - Throws: `FileFailure` when another download is at work on it; what the operation throws.
    func withSole<Value: Sendable>(
        _ path: String, fetching source: String?, for life: DownloadLife, _ operation: @Sendable () async throws -> Value
    ) async throws -> Value {
        let me = Holder(source)
        // Around all of it: whoever comes after a drop has to see at once that this one is ending.
        return try await withTaskCancellationHandler {
            while try !take(path, me, life) { await waitUntilFree(path) }
            defer { leave(path) }
            try Task.checkCancellation()
            return try await operation()
        } onCancel: {
            me.end()
        }
    }

    /// Returns whether the file is the holder's now; false where it will be.
    private func take(_ path: String, _ me: Holder, _ life: DownloadLife) throws -> Bool {
        try state.withLock { state in
            state.kept = state.kept.filter { $0.value.life?.isOver == false }
            if state.busy[path] == nil, let other = state.kept[path], other.life !== life, other.source == nil || other.source != me.source
            {
                throw FileFailure("another download, which is paused, keeps this destination")
            }
            guard let other = state.busy[path]?.holder else {
                state.busy[path] = (me, [])
                state.kept[path] = Keeper(source: me.source, life: life)
                return true
            }
            // Equal downloads share an exchange; one that comes while the other is being given up begins its own.
            let isSame = me.source != nil && me.source == other.source
            if !isSame && !other.isEnding { throw FileFailure("another download is at work on this destination") }
            return false
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
