import Foundation
import NessHTTP
import NessLock

/// The error of `Ness.waitForRequests(_:at:within:clock:)` when its time is over.
public struct WaitTimeout: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
    /// The number of requests that waited at last, the number that the test waited for, the place and the time.
    public let description: String
    /// The description.
    public var errorDescription: String? { description }
}

extension Ness {
    /// The number of this manager's requests that wait at a place now.
    ///
    /// A request that has just been admitted counts until its task continues, and one that has just been dropped until its task has
    /// noticed. Callers who share one exchange count once, except at `.refresh`, which is above the sharing.
    /// - Parameter place: The place.
    package func waitingRequestCount(at place: WaitingPlace) -> Int { waiting.count(at: place) }

    /// Suspends until at least `count` of this manager's requests wait at a place. The number is checked at each change, never on a timer.
    ///
    /// ```swift
    /// ness.maximumConnectionsPerHost = 0
    /// let promises = (1...3).map { ness.get("users", $0).dataRequest() }
    /// try await ness.waitForRequests(3, at: .hostQueue)
    /// promises[1].drop()
    /// ness.maximumConnectionsPerHost = 6
    /// ```
    ///
    /// A request that is counted has joined the queue or the refresh: the test's next step, such as a drop or a higher limit, happens while
    /// it waits.
    /// - Parameters:
    ///   - count: The number of waiting requests.
    ///   - place: The place.
    ///   - limit: The longest time. It ends a test that would otherwise wait forever.
    ///   - clock: The clock of `limit`; the real one unless given.
    /// - Throws: `WaitTimeout` after `limit`; `CancellationError` if the task is canceled, for example at a test's time limit.
    public func waitForRequests(
        _ count: Int, at place: WaitingPlace, within limit: Duration = .seconds(60), clock: any Clock<Duration> = ContinuousClock()
    ) async throws {
        let changed = ChangeSignal()
        let isOver = Lock(false)
        let listener = waiting.listen { changed.notify() }
        defer { waiting.remove(listener) }
        let timers = PipelineClock(clock)
        let stopTimer = timers.startTimer(after: limit) {
            isOver.withLock { $0 = true }
            changed.notify()
        }
        defer {
            stopTimer()
            timers.rest()
        }
        let isMet = await changed.wait {
            if waitingRequestCount(at: place) >= count { return true }
            return isOver.withLock { $0 } ? nil : false
        }
        if isMet { return }
        try Task.checkCancellation()
        throw WaitTimeout(description: "after \(limit), \(waitingRequestCount(at: place)) of \(count) requests wait at \(place)")
    }
}
