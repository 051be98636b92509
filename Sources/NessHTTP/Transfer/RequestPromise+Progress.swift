import Foundation

/// How far a request has come, as it comes: at most ten times a second, never less than before, the last value always.
extension RequestPromise {
    /// Has a closure told how far the request has come.
    /// - Parameter handler: Runs on a serial queue, off the main thread.
    /// - Returns: This promise.
    @discardableResult
    public func onProgress(_ handler: @escaping @Sendable (TransferProgress) -> Void) -> Self {
        listen(handler, atEnd: nil)
        return self
    }

    /// How far the request has come, as a sequence that ends with the request. A slow reader misses values, but not the last one.
    public var progressUpdates: AsyncStream<TransferProgress> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            listen {
                continuation.yield($0)
            } atEnd: {
                continuation.finish()
            }
        }
    }

    private func listen(_ listener: @escaping @Sendable (TransferProgress) -> Void, atEnd end: (@Sendable () -> Void)? = nil) {
        tracker.listen(listener, atEnd: end)
    }

    /// The request as Foundation's `Progress`: to be shown, or added to another. Cancelling it drops the promise; a download is also
    /// paused and resumed by it. Foundation does so on a queue of its own, a moment later.
    public func makeFoundationProgress() -> Progress {
        let progress = Progress(totalUnitCount: -1)
        progress.kind = .file
        progress.isCancellable = true
        progress.cancellationHandler = { [weak self] in self?.drop() }
        addControls(to: progress)
        let shown = UncheckedProgress(progress)
        listen { value in
            shown.progress.totalUnitCount = value.totalBytes ?? -1
            shown.progress.completedUnitCount = value.completedBytes
        } atEnd: { [weak self] in
            // A length that nobody told is known in the end.
            let isOpen = shown.progress.totalUnitCount < 0
            if isOpen, self?.result != nil { shown.progress.totalUnitCount = shown.progress.completedUnitCount }
        }
        return progress
    }
}

// `@unchecked`: a `Progress` may be used from any thread; the lock is its own. Foundation does not say so everywhere.
private struct UncheckedProgress: @unchecked Sendable {
    let progress: Progress
    init(_ progress: Progress) { self.progress = progress }
}
