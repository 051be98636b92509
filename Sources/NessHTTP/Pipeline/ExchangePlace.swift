/// The right to one exchange with a host.
///
/// It is given back when the stage that got it has closed it and no exchange uses it any more: the exchange of a request that was dropped
/// outlives its caller for a moment.
package final class ExchangePlace: Sendable {
    private let state = Lock((users: 0, isClosed: false))
    private let giveBack: @Sendable () -> Void

    init(giveBack: @escaping @Sendable () -> Void) { self.giveBack = giveBack }

    /// Begins an exchange. Returns false if the place is closed.
    func enter() -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.users += 1
            return true
        }
    }

    /// Ends an exchange that has entered.
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
