import Dispatch
import NessLock

/// Reports a transfer's progress to listeners, at most ten times a second.
///
/// The reported number of bytes never decreases, and the last value is always reported. There is one exception: if the file on the server
/// became shorter between two attempts, the last value of a successful request is smaller than the one before it.
final class ProgressReporter: Sendable {
    typealias Listener = @Sendable (TransferProgress) -> Void

    private struct State: Sendable {
        var listeners: [Listener] = []
        var onFinish: [@Sendable () -> Void] = []
        var lastReported: TransferProgress?
        var notifiedAt: Duration?
        /// The samples for the speed, oldest first.
        var samples: [(time: Duration, bytes: Int64)] = []
        /// A value that arrived too soon after the last report. A timer reports it later.
        var held: TransferProgress?
        /// True while a timer waits to report `held`.
        var isHolding = false
        var isFinished = false
        /// The serial queue on which listeners run. It is made for the first listener, because most requests have none.
        lazy var queue = DispatchQueue(label: "ness.progress")
    }

    /// The shortest time between two reports.
    private static let interval = Duration.milliseconds(100)
    /// The number of samples for the speed, which cover three seconds.
    private static let sampleCount = 30

    private let clock: PipelineClock
    /// True if the listeners stay after the end, because `resume()` may follow it.
    private let isResumable: Bool
    private let state = Lock(State())

    init(_ clock: PipelineClock, isResumable: Bool = false) {
        self.clock = clock
        self.isResumable = isResumable
    }

    /// Adds a listener, which runs on the reporter's serial queue, and a closure that runs there after the last value.
    func add(_ listener: @escaping Listener, atEnd end: (@Sendable () -> Void)? = nil) {
        state.withLock { state in
            let known = state.lastReported
            if state.isFinished {
                state.queue.async {
                    if let known { listener(known) }
                    end?()
                }
                if isResumable, end == nil { state.listeners.append(listener) }
                return
            }
            state.listeners.append(listener)
            if let end { state.onFinish.append(end) }
            if let known { state.queue.async { listener(known) } }
        }
    }

    /// Takes a new value. A new attempt reports nothing until it has as many bytes as were last reported.
    func update(_ progress: TransferProgress) {
        let now = clock.elapsed()
        let holds: Bool = state.withLock { state in
            guard !state.listeners.isEmpty, !state.isFinished else { return false }
            if let last = state.samples.last, last.bytes > progress.completedBytes { state.samples = [] }
            if state.samples.last.map({ now - $0.time >= Self.interval }) ?? true {
                state.samples.append((now, progress.completedBytes))
                if state.samples.count > Self.sampleCount { state.samples.removeFirst() }
            }
            if let lastReported = state.lastReported {
                guard progress.completedBytes >= lastReported.completedBytes, !progress.isEqual(lastReported) else { return false }
                let isLast = progress.completedBytes == progress.totalBytes
                guard isLast || state.notifiedAt.map({ now - $0 >= Self.interval }) ?? true else {
                    // A timer reports the value later, because the next value may take long to come.
                    state.held = progress
                    defer { state.isHolding = true }
                    return !state.isHolding
                }
            }
            notify(progress, at: now, &state)
            return false
        }
        if holds { startTimer(after: Self.interval) }
    }

    private func startTimer(after delay: Duration) { _ = clock.startTimer(after: delay) { [weak self] in self?.notifyHeld() } }

    private func notifyHeld() {
        let now = clock.elapsed()
        let tooSoon: Duration? = state.withLock { state in
            state.isHolding = false
            guard let held = state.held, !state.isFinished else { return nil }
            // Another value was reported after this timer started.
            if let notifiedAt = state.notifiedAt, now - notifiedAt < Self.interval {
                state.isHolding = true
                return Self.interval - (now - notifiedAt)
            }
            notify(held, at: now, &state)
            return nil
        }
        if let tooSoon { startTimer(after: tooSoon) }
    }

    /// Reports the last value, unless it has been reported. Later values are ignored.
    /// - Parameter hasSucceeded: `true` if the request succeeded. The value is then reported even if it is smaller than the last report.
    func finish(_ progress: TransferProgress, hasSucceeded: Bool) {
        let now = clock.elapsed()
        // The listeners, and all that they hold, are released outside the lock.
        _ = state.withLock { state -> ([Listener], [@Sendable () -> Void]) in
            guard !state.isFinished else { return ([], []) }
            let isMore = state.lastReported.map { progress.completedBytes > $0.completedBytes } ?? true
            if isMore || (hasSucceeded && state.lastReported.map(progress.isEqual) != true) { notify(progress, at: now, &state) }
            state.isFinished = true
            let (listeners, onFinish) = (state.listeners, state.onFinish)
            if !isResumable { state.listeners = [] }
            state.onFinish = []
            if !onFinish.isEmpty { state.queue.async { for end in onFinish { end() } } }
            return (listeners, onFinish)
        }
    }

    /// Reports again after the end.
    func resume() {
        state.withLock { state in
            if state.isFinished { (state.isFinished, state.held, state.samples) = (false, nil, []) }
        }
    }

    private func notify(_ progress: TransferProgress, at now: Duration, _ state: inout State) {
        var progress = progress
        if let first = state.samples.first, now > first.time, progress.completedBytes >= first.bytes {
            progress.bytesPerSecond = Double(progress.completedBytes - first.bytes) / ((now - first.time) / .seconds(1))
        }
        state.lastReported = progress
        state.notifiedAt = now
        state.held = nil
        let listeners = state.listeners
        if listeners.isEmpty { return }
        state.queue.async { [progress] in for listener in listeners { listener(progress) } }
    }
}

extension TransferProgress {
    /// Returns `true` if the byte counts are equal. The speed does not matter.
    fileprivate func isEqual(_ other: TransferProgress) -> Bool {
        completedBytes == other.completedBytes && totalBytes == other.totalBytes
    }
}
