#if canImport(os)
import os
#else
import Synchronization
#endif

/// A value that only one thread at a time can access. It lies inside its owner, which may be an object or a closure's capture.
///
/// On Apple platforms it is an `OSAllocatedUnfairLock`, because `Mutex` requires macOS 15 and iOS 18.
///
/// It is public, in a separate module, because the compiler inlines only public functions into other modules. Otherwise a request took
/// 30,000 instructions more. No product contains the module, so applications do not see it.
public struct Lock<State: Sendable>: ~Copyable, Sendable {
    #if canImport(os)
    @usableFromInline let storage: OSAllocatedUnfairLock<State>
    #else
    @usableFromInline let storage: Mutex<State>
    // The thread sanitizer cannot see into the slow path of `Mutex`, which is compiled without it, and reports a contended access as a
    // race. It does see the order of an atomic. On x86 the load and the store of this one are plain moves.
    @usableFromInline let order = Atomic(false)
    #endif

    /// Makes a lock around a value.
    @inlinable
    public init(_ state: consuming State) {
        #if canImport(os)
        storage = OSAllocatedUnfairLock(initialState: state)
        #else
        storage = Mutex(state)
        #endif
    }

    /// Runs a closure with exclusive access to the value. The closure must not call code of the application, and must not take this lock.
    @inlinable @inline(__always)
    public func withLock<Result: Sendable>(_ body: (inout State) throws -> Result) rethrows -> Result {
        #if canImport(os)
        try storage.withLockUnchecked(body)
        #else
        try storage.withLock { state in
            _ = order.load(ordering: .acquiring)
            defer { order.store(false, ordering: .releasing) }
            return try body(&state)
        }
        #endif
    }

    /// Replaces a part of the value. The old part is released outside the lock, because its release may run code of the application.
    public func replace<Part: Sendable>(_ part: WritableKeyPath<State, Part>, with new: Part) {
        _ = withLock { state in
            defer { state[keyPath: part] = new }
            return state[keyPath: part]
        }
    }
}
