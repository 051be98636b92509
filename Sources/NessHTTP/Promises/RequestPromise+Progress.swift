import Foundation
import NessLock
import NessPromise

/// Progress reports: at most ten per second, never with fewer bytes than before, and always with the last value.
extension RequestPromise {
    /// Calls a closure with the progress of the request.
    /// - Parameters:
    ///   - context: The queue on which the closure runs, such as `.main`. By default a serial queue off the main thread.
    ///   - handler: Takes the progress. The last call may come after the promise has settled.
    /// - Returns: This promise.
    @discardableResult
    public func onProgress(
        on context: some HandlerContext = .immediate, _ handler: @escaping @Sendable (TransferProgress) -> Void
    ) -> Self {
        call.listen(context.running(handler), atEnd: nil)
        return self
    }

    /// Calls a closure on the main actor with the progress of the request.
    ///
    /// ```swift
    /// download.onProgress(onMain: { label.text = "\($0.fractionCompleted ?? 0)" })
    /// ```
    /// - Parameter handler: Takes the progress. The last call may come after the promise has settled.
    /// - Returns: This promise.
    @discardableResult @_disfavoredOverload
    public func onProgress(onMain handler: @escaping @MainActor @Sendable (TransferProgress) -> Void) -> Self {
        onProgress(on: .main) { progress in MainActor.assumeIsolated { handler(progress) } }
    }

    /// The progress of the request, as a sequence that ends with the request. A slow reader misses values, but never the last one.
    public var progressUpdates: AsyncStream<TransferProgress> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            call.listen {
                continuation.yield($0)
            } atEnd: {
                continuation.finish()
            }
        }
    }

    /// Makes a Foundation `Progress` of the request, to show it or to add it to another one.
    ///
    /// Canceling the `Progress` drops the promise. Pausing and resuming it pauses and resumes an upload or a download. Foundation runs these handlers a
    /// moment later, on its own queue.
    public func makeFoundationProgress() -> Progress {
        let progress = Progress(totalUnitCount: -1)
        progress.kind = .file
        progress.isCancellable = true
        progress.cancellationHandler = { [weak self] in self?.drop() }
        addControls(to: progress)
        let shown = SharedProgress(progress)
        call.listen { value in
            shown.change {
                $0.totalUnitCount = value.totalBytes ?? -1
                $0.completedUnitCount = value.completedBytes
            }
        } atEnd: { [call] in
            guard call.hasSucceeded else { return }
            shown.change { progress in
                guard progress.totalUnitCount <= 0 else { return }
                // The server stated no length, so the number of received bytes becomes the total. A `Progress` with a total of zero would
                // never finish.
                if progress.completedUnitCount == 0 { progress.completedUnitCount = 1 }
                progress.totalUnitCount = progress.completedUnitCount
            }
        }
        return progress
    }
}

/// A Foundation `Progress` that several queues change: each request reports on its own queue, and a child changes its parent.
///
/// `@unchecked Sendable`: on Apple platforms a `Progress` has its own lock. Elsewhere it has none, so one lock guards every `Progress`.
struct SharedProgress: @unchecked Sendable {
    #if !canImport(Darwin)
    private static let lock = Lock(())
    #endif
    private let progress: Progress

    init(_ progress: Progress) { self.progress = progress }

    /// Changes the progress while no other thread does.
    func change(_ body: (Progress) -> Void) {
        #if canImport(Darwin)
        body(progress)
        #else
        Self.lock.withLock { _ in body(progress) }
        #endif
    }
}
