/// A set of suspended tasks. It is not synchronized: its owner's lock guards it.
struct WaiterList: Sendable {
    private var continuations: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var lastTicket: UInt64 = 0

    /// Returns a new number for one waiter. Its cancellation finds the waiter by this number.
    mutating func nextTicket() -> UInt64 {
        lastTicket += 1
        return lastTicket
    }

    /// Adds a waiter.
    mutating func add(_ continuation: CheckedContinuation<Void, Never>, as ticket: UInt64) { continuations[ticket] = continuation }

    /// Removes and returns one waiter; `nil` if it was removed before.
    mutating func take(_ ticket: UInt64) -> CheckedContinuation<Void, Never>? { continuations.removeValue(forKey: ticket) }

    /// Removes and returns all waiters.
    mutating func takeAll() -> [CheckedContinuation<Void, Never>] {
        guard !continuations.isEmpty else { return [] }
        defer { continuations.removeAll() }
        return Array(continuations.values)
    }
}
