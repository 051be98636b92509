import Foundation
import NessLock
import NessPromise

/// The progress of several requests together, with speed and time left.
///
/// ```swift
/// let downloads = files.map {
///     ness.get($0.url).downloadRequest(intoFolder: folder)
/// }
/// let total = TotalProgress(of: downloads)
/// total.onProgress {
///     print($0.fractionCompleted ?? 0, $0.estimatedTimeRemaining ?? .zero)
/// }
/// total.add(ness.get("last.zip").downloadRequest(intoFolder: folder))
/// ```
///
/// The total is known once it is known for every request. A request that has ended counts with the bytes that it has moved, regardless of
/// its outcome. Without the lengths, `makeFoundationProgress()` gives a fraction in which each request has an equal share.
///
/// Values are reported as for one request: at most ten per second, never with fewer bytes than before, and always with the last value.
/// Speeds are measured on the clock of the first request's manager.
public final class TotalProgress: Sendable {
    /// One of the requests.
    private struct Part: Sendable {
        let call: Call
        let makeFoundationProgress: @Sendable () -> Progress

        init<Value>(_ promise: RequestPromise<Value>) {
            call = promise.call
            makeFoundationProgress = { promise.makeFoundationProgress() }
        }
    }

    private struct State: Sendable {
        var parts: [Part] = []
        /// The progress of each part.
        var progress: [TransferProgress] = []
        /// The number of requests that have not ended.
        var runningCount = 0

        /// The sum of all parts.
        var sum: TransferProgress {
            var sum = TransferProgress(totalBytes: 0)
            for part in progress {
                sum.completedBytes = sum.completedBytes.saturatingAdd(part.completedBytes)
                sum.totalBytes = part.totalBytes.flatMap { sum.totalBytes?.saturatingAdd($0) }
            }
            return sum
        }
    }

    private let reporter: ProgressReporter
    private let state = Lock(State())

    /// Adds up requests of one type. `add(_:)` adds those of other types, such as an upload to downloads.
    /// - Parameter promises: The running requests. They are kept until all of them have ended and this object is released.
    public convenience init<Value>(of promises: [RequestPromise<Value>]) {
        self.init(promises.map(Part.init))
    }

    private init(_ parts: [Part]) {
        reporter = ProgressReporter(parts.first?.call.clock ?? PipelineClock(ContinuousClock()), isResumable: true)
        if parts.isEmpty { reporter.finish(TransferProgress(totalBytes: 0), hasSucceeded: true) }
        add(parts)
    }

    /// Adds a running request to the others. If all of them had ended, the closures of `onProgress` receive the new sum; a sequence of
    /// `progressUpdates` that has ended stays at its end.
    /// - Parameter promise: The running request. It is kept until all requests have ended and this object is released.
    public func add<Value>(_ promise: RequestPromise<Value>) { add([Part(promise)]) }

    private func add(_ parts: [Part]) {
        if parts.isEmpty { return }
        let first = state.withLock { state in
            state.parts += parts
            // The length of a file that the caller expects is known from the start.
            state.progress += parts.map(\.call.progress)
            state.runningCount += parts.count
            return state.parts.count - parts.count
        }
        reporter.resume()
        for (index, part) in zip(first..., parts) {
            part.call.listen { [self] progress in
                updateState { $0.progress[index] = progress }
            } atEnd: { [self] in
                updateState { state in
                    state.progress[index].totalBytes = state.progress[index].completedBytes
                    state.runningCount -= 1
                }
            }
        }
    }

    private func updateState(_ change: @Sendable (inout State) -> Void) {
        let (sum, isOver) = state.withLock { state in
            change(&state)
            return (state.sum, state.runningCount == 0)
        }
        guard isOver else { return reporter.update(sum) }
        reporter.finish(sum, hasSucceeded: true)
        // A request may have been added since the state was read.
        if state.withLock({ $0.runningCount > 0 }) { reporter.resume() }
    }

    /// The progress so far, without a speed.
    public var progress: TransferProgress { state.withLock { $0.sum } }

    /// Calls a closure with the progress of all requests together.
    /// - Parameters:
    ///   - context: The queue on which the closure runs, such as `.main`. `.immediate`, the default, means this object's own serial queue.
    ///   - handler: Takes the progress. It is kept as long as this object.
    /// - Returns: This object.
    @discardableResult
    public func onProgress(
        on context: some HandlerContext = .immediate, _ handler: @escaping @Sendable (TransferProgress) -> Void
    ) -> Self {
        reporter.add(context.running(handler))
        return self
    }

    /// Calls a closure on the main actor with the progress of all requests together.
    /// - Parameter handler: Takes the progress. It is kept as long as this object.
    /// - Returns: This object.
    @discardableResult @_disfavoredOverload
    public func onProgress(onMain handler: @escaping @MainActor @Sendable (TransferProgress) -> Void) -> Self {
        onProgress(on: .main) { progress in MainActor.assumeIsolated { handler(progress) } }
    }

    /// The progress of all requests together, as a sequence that ends when all of them have ended. A slow reader misses values, but never
    /// the last one.
    public var progressUpdates: AsyncStream<TransferProgress> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            reporter.add {
                continuation.yield($0)
            } atEnd: {
                continuation.finish()
            }
        }
    }

    /// Makes a Foundation `Progress` whose children are those of the requests. Each child has an equal share.
    ///
    /// Canceling the `Progress` drops all requests. Pausing and resuming it pauses and resumes the uploads and downloads among them. Requests that are
    /// added later do not count.
    public func makeFoundationProgress() -> Progress {
        let parts = state.withLock(\.parts)
        let whole = Progress(totalUnitCount: Int64(parts.count))
        for part in parts {
            let child = part.makeFoundationProgress()
            // The children that were added earlier already update `whole` from their queues.
            SharedProgress(whole).change { $0.addChild(child, withPendingUnitCount: 1) }
        }
        return whole
    }
}
