#if canImport(os)
import os
#else
import Synchronization
#endif

/// A value that only one thread at a time may touch.
///
/// `Synchronization.Mutex` needs a newer system than this package asks for on Apple platforms, so those use
/// `OSAllocatedUnfairLock`; everything else uses `Mutex`. Neither allocates nor enters the kernel when free.
package struct Lock<State: Sendable>: ~Copyable, Sendable {
    #if canImport(os)
    private let storage: OSAllocatedUnfairLock<State>

    package init(_ state: State) { storage = OSAllocatedUnfairLock(initialState: state) }

    package func withLock<Result: Sendable>(_ body: @Sendable (inout State) throws -> Result) rethrows -> Result {
        try storage.withLock(body)
    }
    #else
    private let storage: Mutex<State>

    package init(_ state: State) { storage = Mutex(state) }

    package func withLock<Result: Sendable>(_ body: (inout State) throws -> Result) rethrows -> Result {
        try storage.withLock { state in try body(&state) }
    }
    #endif
}
