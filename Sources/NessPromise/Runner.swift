import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The identity of a thread. It is unique only while the thread exists.
typealias ThreadID = UInt

func currentThread() -> ThreadID {
    #if canImport(Darwin)
    UInt(bitPattern: pthread_self())
    #else
    UInt(bitPattern: Int(truncatingIfNeeded: pthread_self()))
    #endif
}

/// The number of processors that are online.
var cores: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

/// Runs the handlers of a chain one after another on one queue. A chain is therefore sent to its queue once, and a long chain does not
/// recurse.
@usableFromInline
final class Runner {
    /// The queue on which the handlers run; `nil` inside a call that settles a promise or registers a handler.
    let queue: DispatchQueue?
    private var next: AnyPromise?
    private var later: [AnyPromise] = []

    init(queue: DispatchQueue?) { self.queue = queue }

    /// Adds a promise whose links run after the current ones.
    func enqueue(_ promise: AnyPromise) {
        if next == nil {
            next = promise
        } else {
            later.append(promise)
        }
    }

    /// Runs the links of the added promises, until none is left that may run on this queue.
    func runQueued() {
        while let promise = next {
            next = nil
            if !later.isEmpty {
                // First in, first out: the array contains the promises that were added after `next`.
                let rest = later
                later = []
                promise.drain(self)
                for other in rest { other.drain(self) }
            } else {
                promise.drain(self)
            }
        }
    }

    /// Starts a runner on a queue.
    static func schedule(_ promise: AnyPromise, on queue: DispatchQueue) {
        queue.async {
            let runner = Runner(queue: queue)
            promise.drain(runner)
            runner.runQueued()
        }
    }
}
