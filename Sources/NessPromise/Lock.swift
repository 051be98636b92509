#if canImport(os)
import os
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

#if canImport(os)
/// A value that only one thread at a time can access.
package struct Lock<State: Sendable>: Sendable {
    @usableFromInline let storage: OSAllocatedUnfairLock<State>

    @inlinable
    package init(_ state: State) { storage = OSAllocatedUnfairLock(initialState: state) }

    @inlinable
    package func withLock<Result: Sendable>(_ body: (inout State) throws -> Result) rethrows -> Result {
        try storage.withLockUnchecked(body)
    }
}
#else
/// A value that only one thread at a time can access.
///
/// It is a POSIX mutex in one heap block with the value. `Synchronization.Mutex` would need no heap block, but on Linux the thread
/// sanitizer cannot see into it, and reports every access under it as a race.
///
/// Its members are inlined into other modules: without knowing the state's type, they would take several times as long.
package struct Lock<State: Sendable>: Sendable {
    @usableFromInline
    final class Storage: ManagedBuffer<pthread_mutex_t, State> {
        @inlinable
        deinit {
            withUnsafeMutablePointers { mutex, state in
                state.deinitialize(count: 1)
                pthread_mutex_destroy(mutex)
            }
        }
    }

    // Safe: the mutex in the block guards the value in the block.
    @usableFromInline nonisolated(unsafe) let storage: ManagedBuffer<pthread_mutex_t, State>

    @inlinable
    package init(_ state: State) {
        storage = Storage.create(minimumCapacity: 1) { _ in pthread_mutex_t() }
        storage.withUnsafeMutablePointers { mutex, pointer in
            pthread_mutex_init(mutex, nil)
            pointer.initialize(to: state)
        }
    }

    @inlinable
    package func withLock<Result: Sendable>(_ body: (inout State) throws -> Result) rethrows -> Result {
        try storage.withUnsafeMutablePointers { mutex, state in
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return try body(&state.pointee)
        }
    }
}
#endif

extension Lock {
    /// Replaces a part of the value. The old part is released outside the lock, because its release may run code of the application.
    package func replace<Part: Sendable>(_ part: WritableKeyPath<State, Part>, with new: Part) {
        _ = withLock { state in
            defer { state[keyPath: part] = new }
            return state[keyPath: part]
        }
    }
}
