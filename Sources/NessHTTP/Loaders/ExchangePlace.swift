/// The right to one exchange with a host. It is given back when the stage that got it is done with it and no exchange uses it any more: the
/// exchange of a request that was dropped outlives its caller for a moment.
package final class ExchangePlace: Sendable {
    private let state = Lock((users: 0, isClosed: false))
    private let giveBack: @Sendable () -> Void

    init(giveBack: @escaping @Sendable () -> Void) { self.giveBack = giveBack }

    /// An exchange begins. Returns false if it is too late for that.
    func enter() -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.users += 1
            return true
        }
    }

    /// An exchange that had entered has ended.
    func leave() {
        let isFree = state.withLock { state in
            state.users -= 1
            return state.isClosed && state.users == 0
        }
        if isFree { giveBack() }
    }

    /// No other exchange will begin.
    func close() {
        let isFree = state.withLock { state in
            state.isClosed = true
            return state.users == 0
        }
        if isFree { giveBack() }
    }
}
