import NessLock

/// Limits what runs at the same time, by key: the exchanges with each origin, or those with all origins together. The others wait, first
/// in, first out.
///
/// A task that is canceled while it waits leaves the line immediately. The cost of a turn does not depend on the number of waiting tasks.
final class Limiter<Key: Hashable & Sendable>: Sendable {
    /// The lane of a key. `@unchecked Sendable`: the limiter's lock guards it. A class, so that it changes in place.
    final class Lane: @unchecked Sendable {
        fileprivate let key: Key
        /// The limit of this key alone; `nil` for that of all keys.
        fileprivate var limit: Int?
        /// The number of occupied slots. While a task waits, it is at least the limit.
        fileprivate var running = 0
        fileprivate var waiting = WaiterQueue<Waiter>()
        /// The tasks that have given a slot back: see `enterAgain(_:)`. They go before the others.
        fileprivate var returned = WaiterQueue<Waiter>()

        fileprivate var isIdle: Bool { running == 0 && waiting.isEmpty && returned.isEmpty }

        fileprivate func takeFirst() -> Waiter? { returned.takeFirst() ?? waiting.takeFirst() }

        fileprivate init(_ key: Key) { self.key = key }
    }

    private let state: Lock<LimiterState<Key>>

    /// Makes a limiter.
    /// - Parameter limit: The number of slots of each key, at least one.
    init(limit: Int) { state = Lock(LimiterState(limit: max(1, limit))) }

    /// The number of slots of each key. At 0 nothing starts. Raising the limit admits waiting tasks; lowering it ends nothing, but a task
    /// that has not started gives its slot back: see `enterAgain(_:)`.
    var limit: Int {
        get { state.withLock { $0.limit } }
        set {
            let admitted = state.withLock { state in
                state.limit = max(0, newValue)
                return state.lanes.values.map { lane in (lane, state.admit(lane)) }
            }
            for (lane, waiters) in admitted {
                for waiter in waiters where !waiter.resume() { leave(lane) }
            }
        }
    }

    /// Occupies a slot.
    /// - Parameters:
    ///   - key: The key.
    ///   - limit: The number of slots of this key alone from now on, at least one. A higher number admits waiting tasks; a lower one ends
    ///     nothing. `nil` to leave it as it is.
    /// - Returns: The lane for `leave(_:)`; and the wait for the slot, or `nil` if one was free.
    @inline(never)
    func enter(_ key: Key, limit: Int? = nil) -> (lane: Lane, waiter: Waiter?) {
        let (lane, waiter, admitted): (Lane, Waiter?, [Waiter]) = state.withLock { state in
            let lane = state.lane(key)
            var admitted: [Waiter] = []
            if let limit {
                lane.limit = limit
                admitted = state.admit(lane)
            }
            guard lane.running >= state.limit(of: lane) else {
                lane.running += 1
                return (lane, nil, admitted)
            }
            return (lane, lane.waiting.join { id in Waiter { [self] in abandon(lane) { $0.waiting.leave(id) } } }, admitted)
        }
        for waiter in admitted where !waiter.resume() { leave(lane) }
        return (lane, waiter)
    }

    /// Gives a slot back if the limit was lowered below the number of occupied slots. A task calls this before it starts, because the limit
    /// may have changed while the task waited elsewhere.
    /// - Returns: The wait for another slot, ahead of all tasks that have not had one; `nil` if the task keeps its slot.
    @inline(never)
    func enterAgain(_ lane: Lane) -> Waiter? {
        state.withLock { state in
            guard lane.running > state.limit(of: lane) else { return nil }
            lane.running -= 1
            return lane.returned.join { id in Waiter { [self] in abandon(lane) { $0.returned.leave(id) } } }
        }
    }

    /// Removes a canceled task from its queue.
    private func abandon(_ lane: Lane, _ leave: (Lane) -> Void) {
        state.withLock { state in
            leave(lane)
            state.forgetIfIdle(lane)
        }
    }

    /// Gives a slot back. The task that has waited longest gets it.
    @inline(never)
    func leave(_ lane: Lane) {
        while let next = state.withLock({ $0.passOn(lane) }) {
            // A task that was canceled at this moment does not take the slot.
            if next.resume() { return }
        }
    }
}

/// The lanes of a `Limiter`.
struct LimiterState<Key: Hashable & Sendable>: Sendable {
    typealias Lane = Limiter<Key>.Lane

    fileprivate var lanes: [Key: Lane] = [:]
    fileprivate var limit: Int
    /// The number of idle lanes that are kept. A busy client would otherwise make a new object for each request.
    private static var keptLanes: Int { 16 }

    fileprivate init(limit: Int) { self.limit = limit }

    fileprivate mutating func lane(_ key: Key) -> Lane {
        if let lane = lanes[key] { return lane }
        let lane = Lane(key)
        lanes[key] = lane
        return lane
    }

    fileprivate func limit(of lane: Lane) -> Int { lane.limit ?? limit }

    /// Hands a released slot to the task that has waited longest. Frees the slot if no task waits, or if the limit was lowered.
    fileprivate mutating func passOn(_ lane: Lane) -> Waiter? {
        if lane.running <= limit(of: lane), let next = lane.takeFirst() { return next }
        lane.running -= 1
        forgetIfIdle(lane)
        return nil
    }

    /// Admits waiting tasks to the free slots.
    fileprivate func admit(_ lane: Lane) -> [Waiter] {
        var admitted: [Waiter] = []
        while lane.running < limit(of: lane), let next = lane.takeFirst() {
            lane.running += 1
            admitted.append(next)
        }
        return admitted
    }

    fileprivate mutating func forgetIfIdle(_ lane: Lane) {
        guard lane.isIdle, lanes.count > Self.keptLanes, lanes[lane.key] === lane else { return }
        lanes[lane.key] = nil
    }
}
