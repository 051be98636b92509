import NessPromise

/// An object with a state that only one thread at a time can access. It takes one heap block, where an object with a `Lock` takes two.
///
/// It is for the objects that every request needs. `@unchecked Sendable`: `mutex` guards `state`. A subclass adds constants only, so it is
/// `@unchecked Sendable` for the same reason.
package class LockedObject<State: Sendable>: @unchecked Sendable {
    private let mutex = PromiseLock()
    // The lock makes the runtime's check for overlapping access superfluous.
    @exclusivity(unchecked) private final var state: State

    init(_ state: State) { self.state = state }

    /// Runs a closure with exclusive access to the state. The closure must not call code of the application, and must not lock this object.
    @inline(__always)
    final func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        mutex.lock(of: self)
        defer { mutex.unlock(of: self) }
        return try body(&state)
    }
}
