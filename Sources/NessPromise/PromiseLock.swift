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

/// Guards the few words of a promise's state, for a few nanoseconds at a time. No code of the caller runs under it.
///
/// On Apple platforms it is an unfair lock, which lends a waiting thread's priority to the holder. Elsewhere it is one atomic byte: taking
/// and returning a free lock is two atomic operations, and a thread that finds the lock held sleeps at a `ParkingSpot`. A lock must not
/// spin: a thread of higher priority would keep the holder off the only processor.
///
/// Measured over chains of five immediate handlers in a process with several threads: a POSIX mutex in every promise makes a chain 5 to 15 %
/// slower than this, and adds 40 bytes. The thread sanitizer can't see into `Synchronization.Mutex` on Linux and reports every access under
/// it as a race. It does see the orderings of an atomic.
struct PromiseLock: ~Copyable, Sendable {
    #if canImport(os)
    private let storage = OSAllocatedUnfairLock()

    func lock(of owner: AnyObject) { storage.lock() }
    func unlock(of owner: AnyObject) { storage.unlock() }
    #else
    private let state = Atomic<UInt8>(Self.free)

    private static var free: UInt8 { 0 }
    private static var held: UInt8 { 1 }
    /// Held, and a thread may sleep until the lock is returned.
    private static var contended: UInt8 { 2 }

    /// Takes the lock.
    /// - Parameter owner: The object that the lock is part of, always the same: its address selects where threads sleep.
    @inline(__always)
    func lock(of owner: AnyObject) {
        if state.compareExchange(expected: Self.free, desired: Self.held, ordering: .acquiring).exchanged { return }
        sleepUntilHeld(ParkingSpot.of(owner))
    }

    @inline(__always)
    func unlock(of owner: AnyObject) {
        if state.exchange(Self.free, ordering: .releasing) == Self.contended { ParkingSpot.of(owner).wakeAll() }
    }

    @inline(never)
    private func sleepUntilHeld(_ spot: ParkingSpot) {
        // The mark is set with the spot's mutex held, and who returns a marked lock takes that mutex before it wakes the sleepers: the
        // wake-up can't fall between the mark and the sleep.
        spot.sleep { state.exchange(Self.contended, ordering: .acquiring) != Self.free }
    }
    #endif
}

#if !canImport(os)
/// A place where threads sleep until a lock is returned. Many locks share one, so a promise needs no room for it.
private final class ParkingSpot: Sendable {
    private static let all = (0..<64).map { _ in ParkingSpot() }

    // Unsafe in name only: both are made to be used from several threads. They are never freed, and `init` has set them up.
    nonisolated(unsafe) private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    nonisolated(unsafe) private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    private init() {
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    static func of(_ owner: AnyObject) -> ParkingSpot {
        // Objects lie 16 bytes apart at least, so the lowest four bits tell nothing.
        all[Int((UInt(bitPattern: ObjectIdentifier(owner)) >> 4) % UInt(all.count))]
    }

    /// Sleeps, from one wake-up to the next, while `isHeld` says so.
    func sleep(while isHeld: () -> Bool) {
        pthread_mutex_lock(mutex)
        while isHeld() { pthread_cond_wait(condition, mutex) }
        pthread_mutex_unlock(mutex)
    }

    /// Wakes every thread that sleeps here, for another lock's perhaps.
    func wakeAll() {
        pthread_mutex_lock(mutex)
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }
}
#endif
