/// The suspended tasks that wait for something. Not synchronized: its owner's lock guards it.
struct WaiterList: Sendable {
    private var continuations: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var lastTicket: UInt64 = 0

    /// A number under which one waiter is kept, so that its cancellation finds it.
    mutating func nextTicket() -> UInt64 {
        lastTicket += 1
        return lastTicket
    }

    /// Keeps a waiter.
    mutating func add(_ continuation: CheckedContinuation<Void, Never>, as ticket: UInt64) { continuations[ticket] = continuation }

    /// Gives out one waiter, or nil where it has gone.
    mutating func take(_ ticket: UInt64) -> CheckedContinuation<Void, Never>? { continuations.removeValue(forKey: ticket) }

    /// Gives out every waiter.
    mutating func takeAll() -> [CheckedContinuation<Void, Never>] {
        guard !continuations.isEmpty else { return [] }
        defer { continuations.removeAll() }
        return Array(continuations.values)
    }
}
