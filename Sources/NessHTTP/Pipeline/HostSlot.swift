/// A slot in a host's limit of connections, which permits one exchange with the host.
///
/// The host queue closes the slot when its caller is done. The slot becomes free when, in addition, neither an exchange nor a connection
/// uses it any more: both may outlive a caller that dropped its request.
///
/// A transport whose connections can outlive `send` enters the slot itself, and leaves it when the connection is closed or idle.
final class HostSlot: LockedObject<HostSlot.State>, @unchecked Sendable {
    /// The use of a slot.
    struct State: Sendable {
        fileprivate var users = 0
        fileprivate var isClosed = false
    }

    private let giveBack: @Sendable () -> Void

    init(giveBack: @escaping @Sendable () -> Void) {
        self.giveBack = giveBack
        super.init(State())
    }

    /// Begins an exchange, or the use of a connection. Returns false if the slot is closed.
    func enter() -> Bool {
        withLock { state in
            guard !state.isClosed else { return false }
            state.users += 1
            return true
        }
    }

    /// Ends an exchange, or the use of a connection.
    func leave() {
        let isFree = withLock { state in
            state.users -= 1
            return state.isClosed && state.users == 0
        }
        if isFree { giveBack() }
    }

    /// Closes the slot: no other exchange can begin.
    func close() {
        let isFree = withLock { state in
            state.isClosed = true
            return state.users == 0
        }
        if isFree { giveBack() }
    }
}
