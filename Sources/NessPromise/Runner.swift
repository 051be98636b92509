import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A thread, while it exists.
typealias ThreadID = UInt

func currentThread() -> ThreadID {
    #if canImport(Darwin)
    UInt(bitPattern: pthread_self())
    #else
    UInt(bitPattern: Int(truncatingIfNeeded: pthread_self()))
    #endif
}

/// How many processors this process may use.
var cores: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

/// Runs the handlers of a chain one after the other on one queue, so that a chain hops once and a long one never recurses.
@usableFromInline
final class Runner {
    /// The queue this runs on; nil is the inside of a call that settles or registers.
    let queue: DispatchQueue?
    private var next: AnyPromise?
    private var later: [AnyPromise] = []

    init(queue: DispatchQueue?) { self.queue = queue }

    /// Has the promise's links run after those that are being run now.
    func enqueue(_ promise: AnyPromise) {
        if next == nil {
            next = promise
        } else {
            later.append(promise)
        }
    }

    /// Runs until there is nothing left that may run here.
    func runQueued() {
        while let promise = next {
            next = nil
            if !later.isEmpty {
                // First in, first out: the array is what came after `next`.
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
