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

/// What the promises see of each other, whatever their values.
protocol PromiseNode: AnyObject, Sendable {
    /// Runs the waiting links that the runner may run.
    func drain(_ runner: Runner)
    /// Ends this promise, or what still hangs on it if it has settled.
    func drop(in walk: inout DropWalk, becauseOf error: (any Error)?)
    /// A promise that waited here by `link` no longer does.
    func leave(_ link: AnyLink, in walk: inout DropWalk, becauseOf error: (any Error)?)
    /// Nothing can come of `link` any longer. Returns the edges to close next, if that leaves nothing to do here.
    func close(_ link: AnyLink) -> Edges
    /// What this promise waits on, while it is pending.
    var pendingEdges: Edges { get }
    /// Whether a wait on this thread would keep `link` from ever running.
    func isBlocked(_ link: AnyLink, byWaitingOn thread: ThreadID) -> Bool
}

/// Runs the handlers of a chain one after the other on one queue, so that a chain hops once and a long one never recurses.
final class Runner {
    /// The queue this runs on; nil is the inside of a call that settles or registers.
    let queue: DispatchQueue?
    private var nodes: [any PromiseNode] = []

    init(queue: DispatchQueue?) { self.queue = queue }

    /// Has the node's links run after those that are being run now.
    func enqueue(_ node: any PromiseNode) { nodes.append(node) }

    /// Runs until there is nothing left that may run here.
    func run(_ first: any PromiseNode) {
        first.drain(self)
        runQueued()
    }

    func runQueued() {
        var next = 0
        while next < nodes.count {
            let node = nodes[next]
            next += 1
            if next == nodes.count {
                nodes.removeAll(keepingCapacity: true)
                next = 0
            }
            node.drain(self)
        }
    }

    /// Starts a runner on a queue.
    static func schedule(_ node: any PromiseNode, on queue: DispatchQueue) {
        queue.async { Runner(queue: queue).run(node) }
    }
}

/// Closes edges upwards, as far as each closed one leaves its promise with nothing to do.
func closeUpwards(_ edges: Edges) {
    switch edges {
    case .none: break
    case .one(let edge):
        var current = edge
        while true {
            switch current.node.close(current.link) {
            case .none: return
            case .one(let next): current = next
            case .many(let several): return closeAll(several)
            }
        }
    case .many(let several): closeAll(several)
    }
}

private func closeAll(_ edges: [Edge]) {
    var stack = edges
    while let edge = stack.popLast() {
        edge.node.close(edge.link).forEach { stack.append($0) }
    }
}

/// How many processors this process may use.
var cores: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
