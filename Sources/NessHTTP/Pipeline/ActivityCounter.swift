import Dispatch

/// Counts the requests that run, for an indicator of activity. One counter may watch several managers.
///
/// ```swift
/// let counter = ActivityCounter(onMain: { count in spinner.isHidden = count == 0 })
/// let ness = Ness { $0.observers = [counter] }
/// ```
///
/// A request counts from its start to its end, once, however often it is tried. One that nobody shall see is left out by
/// `request.set(option: ActivityCounter.IsCounted.self, to: false)`.
public final class ActivityCounter: RequestObserver {
    /// Whether a request counts; it does unless told otherwise.
    public enum IsCounted: RequestOptionKey {
        /// It does.
        public static let defaultValue = true
    }

    private let running = Lock(0)
    private let changes = InOrder()
    private let onChange: @Sendable (Int) -> Void

    /// Makes a counter.
    /// - Parameter onChange: Takes the new count at each change, in order, one at a time. Runs off the main thread.
    public init(onChange: @escaping @Sendable (Int) -> Void = { _ in }) { self.onChange = onChange }

    /// Makes a counter that tells the main actor.
    /// - Parameter body: Takes the new count at each change, in order. Runs on the main queue.
    public init(onMain body: @escaping @MainActor @Sendable (Int) -> Void) {
        onChange = { count in
            DispatchQueue.main.async { MainActor.assumeIsolated { body(count) } }
        }
    }

    /// How many requests run.
    public var count: Int { running.withLock { $0 } }

    /// Counts one more.
    public func requestDidStart(_ request: HTTPRequest) { add(1, for: request) }

    /// Counts one less.
    public func requestDidEnd(_ request: HTTPRequest) { add(-1, for: request) }

    private func add(_ difference: Int, for request: HTTPRequest) {
        guard request[IsCounted.self] else { return }
        // Counted and told in one step, so that the last that is told is the last that is so.
        changes.run { [self] in
            let count = running.withLock { count in
                count += difference
                return count
            }
            onChange(count)
        }
    }
}
