import NessLock
import NessTesting

/// A list of events in order. Any thread may add one.
package final class Log<Element: Sendable>: Sendable {
    private let lock = Lock<[Element]>([])
    private let changed = ChangeSignal()

    package init() {}

    package var entries: [Element] { lock.withLock { $0 } }

    package func add(_ element: Element) {
        lock.withLock { $0.append(element) }
        changed.notify()
    }

    /// Suspends until the log has a number of entries.
    package func wait(for count: Int) async { await wait { $0.count >= count } }

    /// Suspends until the entries meet a condition.
    package func wait(until condition: @Sendable ([Element]) -> Bool) async { await changed.wait { condition(entries) } }
}
