import Dispatch

/// Runs the handlers of a chain one after another on one queue. A chain is therefore sent to its queue once, and a long chain does not
/// recurse.
@usableFromInline
final class Runner {
    /// The queue on which the handlers run; `nil` inside a call that settles a promise or registers a handler.
    let queue: DispatchQueue?
    /// The first added promise. A chain adds only one at a time, which needs no array.
    private var next: AnyPromise?
    /// The promises that were added after `next`.
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
            // First in, first out: the array contains the promises that were added after `next`.
            let rest = later
            (next, later) = (nil, [])
            promise.drain(self)
            for other in rest { other.drain(self) }
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
