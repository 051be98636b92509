#if canImport(os)
import os
#else
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
#endif

/// The lock of a promise. It guards a few words of state for a few nanoseconds, and no code of the caller runs under it.
///
/// On Apple platforms it is an unfair lock, which lends the priority of a waiting thread to the holder. Elsewhere it is one atomic byte.
/// Locking and unlocking a free lock takes two atomic operations. A thread that finds the lock held sleeps at a `ParkingSpot`. It must not
/// spin: a spinning thread of higher priority would keep the holder off the only processor.
///
/// Measured over chains of five immediate handlers in a process with several threads: with a POSIX mutex in every promise a chain takes 5
/// to 15 % longer, and a promise is 40 bytes larger. `Synchronization.Mutex` does not serve: on Linux the thread sanitizer cannot see into
/// it, and reports every access under it as a race. The sanitizer does see the memory orderings of an atomic.
package struct PromiseLock: ~Copyable, Sendable {
    #if canImport(os)
    private let storage = OSAllocatedUnfairLock()

    package init() {}

    package func lock(of owner: AnyObject) { storage.lock() }
    package func unlock(of owner: AnyObject) { storage.unlock() }
    #else
    @usableFromInline let state: Atomic<UInt8>

    @inlinable
    package init() { state = Atomic(Self.free) }

    @usableFromInline static var free: UInt8 { 0 }
    @usableFromInline static var held: UInt8 { 1 }
    /// The lock is held, and a thread may sleep until it is released.
    @usableFromInline static var contended: UInt8 { 2 }

    /// Takes the lock.
    /// - Parameter owner: The object that contains the lock, always the same one. Its address selects the spot at which threads sleep.
    @inlinable @inline(__always)
    package func lock(of owner: AnyObject) {
        if state.compareExchange(expected: Self.free, desired: Self.held, ordering: .acquiring).exchanged { return }
        sleepUntilHeld(owner)
    }

    @inlinable @inline(__always)
    package func unlock(of owner: AnyObject) {
        if state.exchange(Self.free, ordering: .releasing) == Self.contended { wakeAll(owner) }
    }

    @usableFromInline @inline(never)
    func sleepUntilHeld(_ owner: AnyObject) {
        // The mark `contended` is set with the spot's mutex held. The thread that releases a marked lock takes that mutex before it wakes
        // the sleepers, so its wake-up cannot fall between the mark and the sleep.
        ParkingSpot.of(owner).sleep { state.exchange(Self.contended, ordering: .acquiring) != Self.free }
    }

    @usableFromInline @inline(never)
    func wakeAll(_ owner: AnyObject) { ParkingSpot.of(owner).wakeAll() }
    #endif
}

#if !canImport(os)
/// A spot at which threads sleep until a lock is released. Many locks share one spot, so a promise needs no memory for it.
private final class ParkingSpot: Sendable {
    private static let all = (0..<64).map { _ in ParkingSpot() }

    // Safe: both are made for use from several threads, are initialized by `init`, and are never freed.
    nonisolated(unsafe) private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    nonisolated(unsafe) private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    private init() {
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    static func of(_ owner: AnyObject) -> ParkingSpot {
        // Objects are aligned to 16 bytes, so the lowest four bits are always equal.
        all[Int((UInt(bitPattern: ObjectIdentifier(owner)) >> 4) % UInt(all.count))]
    }

    /// Sleeps while `isHeld` returns true. It is checked before the first sleep, after each wake-up, and once a second: the condition
    /// variables of some versions of glibc can lose a wake-up (bug 25847).
    func sleep(while isHeld: () -> Bool) {
        pthread_mutex_lock(mutex)
        while isHeld() {
            var end = timespec()
            clock_gettime(CLOCK_REALTIME, &end)
            end.tv_sec += 1
            pthread_cond_timedwait(condition, mutex, &end)
        }
        pthread_mutex_unlock(mutex)
    }

    /// Wakes every thread that sleeps at this spot, including those that wait for another lock.
    func wakeAll() {
        pthread_mutex_lock(mutex)
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }
}
#endif
