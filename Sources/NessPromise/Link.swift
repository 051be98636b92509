import Dispatch

/// One registration on a promise: what runs when it settles, and where.
///
/// `@unchecked Sendable`: `phase` and `thread` are guarded by the lock of the promise the link is registered on; the rest never changes.
class AnyLink: @unchecked Sendable {
    enum Phase {
        /// Not registered yet: a promise that is about to wait by it.
        case unregistered
        /// Not begun.
        case waiting
        /// Its body runs now.
        case running
        /// Its body has run; what depends on it may still have handlers to run.
        case done
        /// Nothing more can come of it.
        case closed
    }

    final let queue: DispatchQueue?
    final var phase = Phase.unregistered
    /// The thread that runs the body, while `running`: a wait on that thread for a later link could never end.
    final var thread: ThreadID = 0

    init(queue: DispatchQueue?) { self.queue = queue }

    /// The promise that this link settles, if there is one.
    var dependent: (any PromiseNode)? { nil }

    /// Whether the body is told when the link is dropped before it began.
    var seesDrop: Bool { false }

    /// Tells the body that it was dropped.
    func runDropped(_ error: any Error, _ runner: Runner) {}

    final func canRun(on queue: DispatchQueue?) -> Bool {
        guard let mine = self.queue else { return true }
        guard let queue else { return false }
        return mine.isSame(as: queue)
    }
}

/// A link on a promise of a known type.
class Link<Value: Sendable>: AnyLink, @unchecked Sendable {
    func run(_ outcome: Result<Value, any Error>, _ runner: Runner) {}

    override final func runDropped(_ error: any Error, _ runner: Runner) { run(.failure(error), runner) }
}

/// What a handler's body leads to.
enum Step<Value: Sendable> {
    case value(Value)
    case follow(Promise<Value>)
}

/// `then`, `recover`, `handle`, `finally`: a body whose result settles another promise.
final class StepLink<Value: Sendable, NewValue: Sendable>: Link<Value>, @unchecked Sendable {
    private let child: Promise<NewValue>
    private let body: @Sendable (Result<Value, any Error>) throws -> Step<NewValue>
    private let bodySeesDrop: Bool

    init(
        queue: DispatchQueue?, child: Promise<NewValue>, seesDrop: Bool,
        body: @escaping @Sendable (Result<Value, any Error>) throws -> Step<NewValue>
    ) {
        self.child = child
        self.body = body
        bodySeesDrop = seesDrop
        super.init(queue: queue)
    }

    override var dependent: (any PromiseNode)? { child }
    override var seesDrop: Bool { bodySeesDrop }

    override func run(_ outcome: Result<Value, any Error>, _ runner: Runner) {
        do {
            switch try body(outcome) {
            case .value(let value): child.settle(.success(value), runner, by: self)
            case .follow(let promise): child.follow(promise, runner)
            }
        } catch {
            child.settle(.failure(error), runner, by: self)
        }
    }
}

/// A link whose closure does as it likes with the outcome: waiters, combinators, adoption.
final class ClosureLink<Value: Sendable>: Link<Value>, @unchecked Sendable {
    private let target: (any PromiseNode)?
    private let body: @Sendable (Result<Value, any Error>, ClosureLink<Value>, Runner) -> Void

    init(
        target: (any PromiseNode)? = nil,
        body: @escaping @Sendable (Result<Value, any Error>, ClosureLink<Value>, Runner) -> Void
    ) {
        self.target = target
        self.body = body
        super.init(queue: nil)
    }

    override var dependent: (any PromiseNode)? { target }
    override var seesDrop: Bool { target == nil }

    override func run(_ outcome: Result<Value, any Error>, _ runner: Runner) { body(outcome, self, runner) }
}

/// From a promise to one it waits on.
struct Edge: Sendable {
    let node: any PromiseNode
    let link: AnyLink
}

/// The edges of one promise; nearly always there is one, and then no array is made for it.
enum Edges: Sendable {
    case none
    case one(Edge)
    case many([Edge])

    func forEach(_ body: (Edge) -> Void) {
        switch self {
        case .none: break
        case .one(let edge): body(edge)
        case .many(let edges): edges.forEach(body)
        }
    }

    mutating func append(_ edge: Edge) {
        switch self {
        case .none: self = .one(edge)
        case .one(let first): self = .many([first, edge])
        case .many(var edges):
            self = .none
            edges.append(edge)
            self = .many(edges)
        }
    }
}
