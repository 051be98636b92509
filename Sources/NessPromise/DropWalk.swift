import Dispatch

/// One `drop()`, travelling from promise to promise without recursion. Everything is ended first; only then do handlers and the
/// owners of dropped work hear of it, the outermost first.
struct DropWalk {
    private typealias Notice = (queue: DispatchQueue?, body: @Sendable (Runner) -> Void)

    private var nodes: [(any PromiseNode, (any Error)?)] = []
    private var notices: [Notice] = []

    /// The promise is to be dropped in this walk.
    mutating func visit(_ node: any PromiseNode, becauseOf error: (any Error)?) { nodes.append((node, error)) }

    /// To be called when everything has ended.
    mutating func tell(on queue: DispatchQueue?, _ body: @escaping @Sendable (Runner) -> Void) { notices.append((queue, body)) }

    /// Drops all that was visited, and all that follows from it.
    mutating func finish() {
        while let (node, error) = nodes.popLast() { node.drop(in: &self, becauseOf: error) }
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

    private static func run(_ bodies: [@Sendable (Runner) -> Void], on queue: DispatchQueue?) {
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
