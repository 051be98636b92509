/// The right to one exchange with a host.
///
/// It is given back when the stage that got it has closed it and neither an exchange nor a connection uses it any more: both outlive the
/// caller of a request that was dropped for a moment.
package final class ExchangePlace: Sendable {
    private let state = Lock((users: 0, isClosed: false))
    private let giveBack: @Sendable () -> Void

    init(giveBack: @escaping @Sendable () -> Void) { self.giveBack = giveBack }

    /// Begins an exchange, or the use of a connection. Returns false if the place is closed.
    func enter() -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.users += 1
            return true
        }
    }

    /// Ends what has entered.
    func leave() {
        let isFree = state.withLock { state in
            state.users -= 1
            return state.isClosed && state.users == 0
        }
        if isFree { giveBack() }
    }

    /// Lets no other exchange begin.
    func close() {
        let isFree = state.withLock { state in
            state.isClosed = true
            return state.users == 0
        }
        if isFree { giveBack() }
    }
}

/// Gives a transport the place of its exchange. A transport whose connections outlive `send`, as where a cancelled exchange ends at once, enters
/// the place itself, and leaves it when the connection is closed or free again. The others need not look at it.
package enum HeldPlace: RequestOptionKey {
    package static let defaultValue: ExchangePlace? = nil
}
