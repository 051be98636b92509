import Foundation
import NessLock

/// The progress of several requests together, with speed and time left.
///
/// ```swift
/// let downloads = files.map { ness.httpRequest(withUrl: $0.url).downloadRequest(intoFolder: folder) }
/// let total = TotalProgress(of: downloads)
/// total.onProgress { print($0.fractionCompleted ?? 0, $0.estimatedTimeRemaining ?? .zero) }
/// ```
///
/// The total is known once it is known for every request. A request that has ended counts with the bytes that it has moved, whatever its
/// outcome is. Without the lengths, `makeFoundationProgress()` gives a fraction in which each request has an equal share.
///
/// Values are reported as for one request: at most ten per second, never with fewer bytes than before, and always with the last value.
/// Speeds are measured on the clock of the first request's manager.
public final class TotalProgress: Sendable {
    /// One of the requests.
    private struct Part: Sendable {
        let call: Call
        let makeFoundationProgress: @Sendable () -> Progress
    }

    private struct State: Sendable {
        var parts: [TransferProgress]
        /// The number of requests that have not ended.
        var runningCount: Int

        /// The sum of all parts.
        var sum: TransferProgress {
            var sum = TransferProgress(totalBytes: 0)
            for part in parts {
                sum.completedBytes = sum.completedBytes.saturatingAdd(part.completedBytes)
                sum.totalBytes = part.totalBytes.flatMap { sum.totalBytes?.saturatingAdd($0) }
            }
            return sum
        }
    }

    private let parts: [Part]
    private let reporter: ProgressReporter
    private let state: Lock<State>

    /// Adds up requests of one type.
    /// - Parameter promises: The running requests. They are kept until all of them have ended and this object is released.
    public convenience init<Value>(of promises: [RequestPromise<Value>]) {
        self.init(promises.map { promise in Part(call: promise.call) { promise.makeFoundationProgress() } })
    }

    /// Adds up requests of several types, such as an upload and a download.
    /// - Parameter promise: The running requests. They are kept until all of them have ended and this object is released.
    public convenience init<each Value: Sendable>(of promise: repeat RequestPromise<each Value>) {
        var parts: [Part] = []
        for promise in repeat each promise { parts.append(Part(call: promise.call) { promise.makeFoundationProgress() }) }
        self.init(parts)
    }

    private init(_ parts: [Part]) {
        self.parts = parts
        reporter = ProgressReporter(parts.first?.call.clock ?? PipelineClock(ContinuousClock()))
        state = Lock(State(parts: parts.map { _ in TransferProgress() }, runningCount: parts.count))
        for (index, part) in parts.enumerated() {
            part.call.listen { [self] progress in
                change { $0.parts[index] = progress }
            } atEnd: { [self] in
                change { state in
                    state.parts[index].totalBytes = state.parts[index].completedBytes
                    state.runningCount -= 1
                }
            }
        }
        if parts.isEmpty { reporter.finish(TransferProgress(totalBytes: 0), hasSucceeded: true) }
    }

    private func change(_ change: @Sendable (inout State) -> Void) {
        let (sum, isOver) = state.withLock { state in
            change(&state)
            return (state.sum, state.runningCount == 0)
        }
        if isOver { reporter.finish(sum, hasSucceeded: true) } else { reporter.update(sum) }
    }

    /// The progress so far, without a speed.
    public var progress: TransferProgress { state.withLock { $0.sum } }

    /// Calls a closure with the progress of all requests together.
    /// - Parameter handler: Takes the progress. Runs on a serial queue, off the main thread.
    /// - Returns: This object.
    @discardableResult
    public func onProgress(_ handler: @escaping @Sendable (TransferProgress) -> Void) -> Self {
        reporter.add(handler)
        return self
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
    /// Cancelling the `Progress` drops all requests. Pausing and resuming it pauses and resumes the downloads among them.
    public func makeFoundationProgress() -> Progress {
        let whole = Progress(totalUnitCount: Int64(parts.count))
        for part in parts {
            let child = part.makeFoundationProgress()
            SharedProgress(whole).change { $0.addChild(child, withPendingUnitCount: 1) }
        }
        return whole
    }
}
