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

/// Guards the few words of a promise's state, for a few nanoseconds at a time: nothing of the caller's ever runs under it.
///
/// On Apple platforms it is an unfair lock, which lends a waiting thread's priority to the holder. Elsewhere it spins on an atomic
/// and yields. `Synchronization.Mutex` would be the first choice, but the thread sanitizer can't see into it on Linux and reports
/// every access under it as a race; a library that promises to be free of races has to be checkable.
struct SpinLock: ~Copyable, Sendable {
    #if canImport(os)
    private let storage = OSAllocatedUnfairLock()

    func lock() { storage.lock() }
    func unlock() { storage.unlock() }
    #else
    private let isHeld = Atomic<Bool>(false)

    func lock() {
        if isHeld.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged { return }
        var attempts = 0
        while isHeld.load(ordering: .relaxed)
            || !isHeld.weakCompareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
        {
            attempts += 1
            if attempts > 32 { sched_yield() }
        }
    }

    func unlock() { isHeld.store(false, ordering: .releasing) }
    #endif
}
