import Dispatch
import NessLock

/// One `drop()`, which travels from promise to promise without recursion.
///
/// The walk first ends every promise. Only then does it notify handlers and the owners of dropped work. Notices begin with the promise
/// that is furthest up the chain. The handlers of one promise are notified in the order of registration.
struct DropWalk {
    typealias Notice = @Sendable (Runner) -> Void

    /// The receiver of a notice at one promise, in the order in which receivers are notified.
    enum Receiver: Int {
        /// The handler that would have settled the promise.
        case handler
        /// The owner of the work behind the promise.
        case owner
        /// The handlers that are registered on the promise.
        case dependents
    }

    /// A notice with its place in the order of notices: by depth, then by receiver, then by number.
    private struct RankedNotice {
        /// The depth of the promise.
        let depth: Int
        let receiver: Receiver
        /// The position among all notices, which keeps the notices of one receiver in order.
        let number: Int
        let queue: DispatchQueue?
        let body: Notice

        var rank: (Int, Int, Int) { (depth, receiver.rawValue, number) }
    }

    /// The caller's error, with which every promise of this drop ends; `nil` if the caller gave none.
    let reason: (any Error)?
    /// The promises to drop, each with its error, and with its distance down the chain from the promise with which the walk started.
    private var drops: [(promise: AnyPromise, error: (any Error)?, depth: Int)] = []
    private var notices: [RankedNotice] = []
    /// The depth of the current promise.
    private(set) var depth = 0

    init(becauseOf reason: (any Error)? = nil) { self.reason = reason }

    /// Adds a promise to drop in this walk.
    /// - Parameters:
    ///   - promise: The promise.
    ///   - step: -1 for a promise that the current one waits on, 1 for a promise that waits on the current one, 0 for the first.
    ///   - error: The error with which the promise fails, unless the caller gave one; `nil` for the promise's `dropError`.
    mutating func add(_ promise: AnyPromise, step: Int = 0, with error: (any Error)? = nil) {
        drops.append((promise, error, depth + step))
    }

    /// Adds a notice, which runs when all promises of the walk have ended.
    /// - Parameters:
    ///   - receiver: The receiver of the notice.
    ///   - step: 1 for a promise that waits on the current one, 0 for the current one.
    ///   - queue: The queue on which the notice runs; `nil` for any thread.
    ///   - body: The notice.
    mutating func notify(_ receiver: Receiver, step: Int = 0, on queue: DispatchQueue?, _ body: @escaping Notice) {
        notices.append(RankedNotice(depth: depth + step, receiver: receiver, number: notices.count, queue: queue, body: body))
    }

    /// Drops the promises that were added and those that the drops add, then runs the notices. Called once.
    mutating func finish() {
        var next = 0
        while next < drops.count {
            let drop = drops[next]
            next += 1
            depth = drop.depth
            drop.promise.drop(in: &self, with: drop.error)
        }
        var rest = notices.sorted { $0.rank < $1.rank }[...]
        while let queue = rest.first.map(\.queue) {
            let group = rest.prefix { $0.queue === queue }.map(\.body)
            rest = rest.dropFirst(group.count)
            if let queue {
                queue.async { Self.run(group, on: queue) }
            } else {
                Self.run(group, on: nil)
            }
        }
    }

    /// The number of nested walks on each thread. A notice that cancels a task may drop the promise that the task waits for: a nested walk.
    private static let nesting = Lock<[ThreadID: Int]>([:])
    /// The number of nested walks beyond which the next one continues on another thread, because a chain of waiting tasks may be longer
    /// than the stack.
    private static let nestingLimit = 32

    private static func run(_ bodies: [Notice], on queue: DispatchQueue?) {
        let thread = currentThread()
        let nestedWalks = nesting.withLock { nesting in
            let count = (nesting[thread] ?? 0) + 1
            nesting[thread] = count
            return count
        }
        defer { nesting.withLock { $0[thread] = nestedWalks == 1 ? nil : nestedWalks - 1 } }
        guard nestedWalks <= nestingLimit else { return (queue ?? .global()).async { run(bodies, on: queue) } }
        let runner = Runner(queue: queue)
        for body in bodies { body(runner) }
        runner.runQueued()
    }
}
