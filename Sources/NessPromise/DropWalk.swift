import Dispatch

/// One `drop()`, travelling from promise to promise without recursion.
///
/// Every promise is ended first. Only then do handlers and the owners of dropped work hear of it: those of the promise that is furthest up
/// the chain first, and those of one promise in the order of registration.
struct DropWalk {
    typealias Notice = @Sendable (Runner) -> Void

    /// The part of a promise that a notice is for, in the order in which the parts hear of a drop.
    enum Part: Int {
        /// The handler that was to settle the promise.
        case handler
        /// The owner of the work behind the promise.
        case owner
        /// The handlers that wait for the promise.
        case dependents
    }

    /// A promise to be dropped, and how far down the chain it is from the one that the walk began with.
    struct Visit {
        let promise: AnyPromise
        let error: (any Error)?
        let depth: Int
    }

    private struct Telling {
        let rank: Int
        /// The position among all notices: those of one rank keep their order.
        let number: Int
        let queue: DispatchQueue?
        let body: Notice
    }

    private var visits: [Visit] = []
    private var notices: [Telling] = []
    /// The depth of the promise that is being dropped.
    private(set) var depth = 0

    /// Adds a promise that is to be dropped in this walk.
    /// - Parameters:
    ///   - promise: The promise.
    ///   - step: -1 for one that the present promise waits on, 1 for one that waits on it, 0 for the first.
    ///   - error: The error that it fails with.
    mutating func visit(_ promise: AnyPromise, step: Int = 0, becauseOf error: (any Error)?) {
        visits.append(Visit(promise: promise, error: error, depth: depth + step))
    }

    /// Adds a notice that is given when everything has ended.
    /// - Parameters:
    ///   - part: The part of the promise that hears.
    ///   - step: 1 for a promise that waits on the present one.
    ///   - queue: The queue on which the notice runs; nil for any thread.
    ///   - body: The notice.
    mutating func notify(_ part: Part, step: Int = 0, on queue: DispatchQueue?, _ body: @escaping Notice) {
        notices.append(Telling(rank: 3 * (depth + step) + part.rawValue, number: notices.count, queue: queue, body: body))
    }

    /// Drops the promises that were added, and those that follow from them.
    mutating func finish() {
        var next = 0
        while next < visits.count {
            let visit = visits[next]
            next += 1
            depth = visit.depth
            visit.promise.drop(in: &self, becauseOf: visit.error)
        }
        visits = []
        depth = 0
        var rest = notices.sorted { ($0.rank, $0.number) < ($1.rank, $1.number) }[...]
        notices = []
        while let queue = rest.first.map(\.queue) {
            let group = rest.prefix { Self.isSame($0.queue, queue) }.map(\.body)
            rest = rest.dropFirst(group.count)
            if let queue {
                queue.async { Self.run(group, on: queue) }
            } else {
                Self.run(group, on: nil)
            }
        }
    }

    private static func run(_ bodies: [Notice], on queue: DispatchQueue?) {
        let runner = Runner(queue: queue)
        for body in bodies { body(runner) }
        runner.runQueued()
    }

    private static func isSame(_ first: DispatchQueue?, _ second: DispatchQueue?) -> Bool {
        switch (first, second) {
        case (nil, nil): true
        case (let first?, let second?): first.isSame(as: second)
        default: false
        }
    }
}
