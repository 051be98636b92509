/// The effects of the events that have several: what `Call` does after it has released the lock.
extension CallState {
    /// The effects of an end, and what is released outside the lock.
    struct End: Sendable {
        let held: Active
        /// The task to cancel. `nil` if it runs a flight that others may have joined: the last member to leave cancels it.
        let task: Task<Void, Never>?
        /// False if the observers are notified later, when the reader of the stream ends.
        let notifiesObservers: Bool

        var deadlineTimer: StartedTimer? { held.deadline?.timer }
        var owner: (any CallOwner)? { if case .owner(let owner) = held.result { owner } else { nil } }
        func unregister() { if let (registry, id) = held.registration { registry.remove(id) } }
    }

    /// The effects of a reader's end.
    enum ReaderEnd: Sendable {
        /// The wire still runs: the call ends.
        case call(End, HTTPResponse)
        /// The wire has ended: observers hear of the end.
        case observers(HTTPResponse)
    }

    /// The effect of the deadline.
    enum DeadlineEffect: Sendable {
        case end
        /// The closure is called instead of ending the call.
        case abandon(@Sendable (any Error) -> Void)
    }

    /// The effects of a pause.
    struct Pause: Sendable {
        let wait: Wait
        let others: [Flight.Member]
        let deadlineTimer: StartedTimer?
    }
}
