import Dispatch

/// One `drop()`, travelling from promise to promise without recursion. Everything is ended first; only then do handlers and the
/// owners of dropped work hear of it, the outermost first.
struct DropWalk {
    typealias Notice = @Sendable (Runner) -> Void

    private var promises: [(AnyPromise, (any Error)?)] = []
    private var notices: [(queue: DispatchQueue?, body: Notice)] = []

    /// The promise is to be dropped in this walk.
    mutating func visit(_ promise: AnyPromise, becauseOf error: (any Error)?) { promises.append((promise, error)) }

    /// To be called when everything has ended.
    mutating func tell(on queue: DispatchQueue?, _ body: @escaping Notice) { notices.append((queue, body)) }

    /// Drops all that was visited, and all that follows from it.
    mutating func finish() {
        while let (promise, error) = promises.popLast() { promise.drop(in: &self, becauseOf: error) }
        var rest = notices.reversed()[...]
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
