import Dispatch
import NessLock

/// Counts the running requests, for an activity indicator. One counter may watch several managers.
///
/// ```swift
/// let counter = ActivityCounter(onMain: { count in
///     spinner.isHidden = count == 0
/// })
/// let ness = Ness { $0.observers = [counter] }
/// ```
///
/// A request counts once, from its start to its end, with all its attempts. To leave a request out, set
/// `request.set(option: ActivityCounter.IsCounted.self, to: false)`.
public final class ActivityCounter: RequestObserver {
    /// A request option that indicates whether the counter counts the request. The default is `true`.
    public enum IsCounted: RequestOptionKey {
        /// `true`: a request counts unless it says otherwise.
        public static let defaultValue = true
        /// `false`: it concerns this request's observers alone.
        public static let distinguishesRequests = false
    }

    private let running = Lock(0)
    private let changes = SerialRunner()
    private let onChange: @Sendable (Int) -> Void

    /// Makes a counter.
    /// - Parameter onChange: Takes the new count after each change. Calls are in order and never overlap. Runs off the main thread.
    public init(onChange: @escaping @Sendable (Int) -> Void = { _ in }) { self.onChange = onChange }

    /// Makes a counter that reports to the main actor.
    /// - Parameter body: Takes the new count after each change, in order. Runs on the main queue.
    public init(onMain body: @escaping @MainActor @Sendable (Int) -> Void) {
        onChange = { count in
            DispatchQueue.main.async { MainActor.assumeIsolated { body(count) } }
        }
    }

    /// The number of running requests.
    public var count: Int { running.withLock { $0 } }

    /// Counts one request more.
    public func requestDidStart(_ request: HTTPRequest) { add(1, for: request) }

    /// Counts one request less.
    public func requestDidEnd(_ request: HTTPRequest) { add(-1, for: request) }

    private func add(_ difference: Int, for request: HTTPRequest) {
        guard request[IsCounted.self] else { return }
        // One step changes the count and reports it. The last reported count is therefore the current one.
        changes.run { [self] in
            let count = running.withLock { count in
                count += difference
                return count
            }
            onChange(count)
        }
    }
}
