import Dispatch

/// A promise whose value's type does not matter: to keep running promises of different types together, and to drop them.
///
/// It is also the node of the graph that `Promise` builds. A promise made by `then` and its like is at the same time the link by
/// which it waits on its parent; what waits without being a promise, a task that awaits say, is a bare link.
///
/// `@unchecked Sendable`: `mutex` guards the first group of properties, the lock of the promise that this one is registered on the
/// second; the third is set before the object is shared.
open class AnyPromise: @unchecked Sendable {
    enum Status { case pending, fulfilled, rejected }

    enum Phase {
        /// Not registered yet.
        case new
        /// Not begun.
        case waiting
        /// Its body runs now.
        case running
        /// Its body has run; what depends on it may still have handlers to run.
        case done
        /// Nothing more can come of it.
        case closed
    }

    /// What runs when the promise it is registered on settles: the promise, the link itself, the error if there is one, the runner if
    /// there is one: without, nothing can wait on what the body settles yet.
    @usableFromInline
    typealias Body = @Sendable (_ parent: AnyPromise, _ link: AnyPromise, _ error: (any Error)?, _ runner: Runner?) -> Void

    // Guarded by `mutex`, which is why the run-time's own check for overlapping access, a third of a link's cost, is off.
    private let mutex = PromiseLock()
    @exclusivity(unchecked) final var status = Status.pending
    @usableFromInline @exclusivity(unchecked) final var failure: (any Error)?
    @exclusivity(unchecked) final var links = LinkList()
    /// What this promise waits on; kept until nothing that hangs on this promise has a handler to run.
    @exclusivity(unchecked) final var edges = Edges.none
    /// Told once when the promise settles: with the error if it was dropped, with nil if it was not.
    @exclusivity(unchecked) final var settled: (@Sendable ((any Error)?) -> Void)?

    // As a link; guarded by the lock of the promise it is registered on.
    @exclusivity(unchecked) final var phase = Phase.new
    /// The thread that runs the body, or 0: a wait on that thread for a later link could never end.
    @exclusivity(unchecked) final var thread: ThreadID = 0
    /// Belongs to whoever takes the link out of `waiting`.
    @usableFromInline @exclusivity(unchecked)
    final var body: Body?

    // Set before the object is shared.
    final let queue: DispatchQueue?
    /// Whether the body is told when the link is dropped before it began.
    final let seesDrop: Bool
    /// The promise that the body settles: this one, or the one a bare link works for, or none.
    final let target: Target
    /// Makes the error of a `drop()` without a reason; a chain has that of the promise it began with.
    @usableFromInline
    final let makeDropError: (@Sendable () -> any Error)?

    enum Target {
        case itself
        case other(AnyPromise)
        case none
    }

    private init(queue: DispatchQueue?, seesDrop: Bool, target: Target, makeDropError: (@Sendable () -> any Error)?) {
        self.queue = queue
        self.seesDrop = seesDrop
        self.target = target
        self.makeDropError = makeDropError
    }

    /// A promise that waits on nothing.
    @usableFromInline
    init(promiseMaking makeDropError: (@Sendable () -> any Error)?) {
        queue = nil
        seesDrop = false
        target = .itself
        self.makeDropError = makeDropError
    }

    /// A promise that a handler of `parent` will settle, once it is registered there.
    @usableFromInline
    init(linkedTo parent: AnyPromise, on queue: DispatchQueue?, seesDrop: Bool, body: @escaping Body) {
        self.queue = queue
        self.seesDrop = seesDrop
        target = .itself
        makeDropError = parent.makeDropError
        self.body = HandlerScope.bind(body)
        edges = .one(Edge(parent: parent, link: self))
    }

    /// A bare link: what waits without being a promise, or on behalf of one.
    @usableFromInline
    static func link(for target: AnyPromise? = nil) -> AnyPromise {
        AnyPromise(queue: nil, seesDrop: target == nil, target: target.map(Target.other) ?? .none, makeDropError: nil)
    }

    final var dependent: AnyPromise? {
        switch target {
        case .itself: self
        case .other(let promise): promise
        case .none: nil
        }
    }

    // MARK: what is known

    /// Whether the promise has settled.
    public final var isCompleted: Bool { locked { status != .pending } }

    /// The error, or nil while there is none.
    public final var error: (any Error)? { locked { failure } }

    /// How many wait for it: promises that follow from it, and tasks.
    package final var waiterCount: Int { locked { links.live } }

    /// How many links and groups of links were looked at so far, while more than one link was registered: for tests.
    package final var stepCount: Int { locked { links.steps } }

    // MARK: dropping

    /// Ends this promise with an error at once, unless it has settled, and whatever only it was waiting for.
    ///
    /// A promise that has settled keeps its outcome, but handlers that have not begun see the error instead of it.
    open func drop() { drop(reason: nil) }

    /// As `drop()`, with a reason.
    /// - Parameter error: The error that this promise, and what is dropped with it, fails with.
    open func drop(becauseOf error: any Error) { drop(reason: error) }

    final func drop(reason: (any Error)?) {
        var walk = DropWalk()
        walk.visit(self, becauseOf: reason)
        walk.finish()
    }

    // MARK: for the library

    /// Sets what is told once when the promise settles: the error if it was dropped, nil if it was not.
    /// - Returns: False if it has settled; then nothing is kept.
    @discardableResult
    package final func onSettle(_ body: @escaping @Sendable ((any Error)?) -> Void) -> Bool {
        locked {
            guard status == .pending else { return false }
            settled = body
            return true
        }
    }

    @inline(__always)
    final func lock() { mutex.lock(of: self) }

    @inline(__always)
    final func unlock() { mutex.unlock(of: self) }

    @inline(__always)
    final func locked<Result>(_ body: () throws -> Result) rethrows -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// From a promise to one it waits on, by a link that is registered there.
struct Edge {
    let parent: AnyPromise
    let link: AnyPromise
}

/// The edges of one promise; nearly always there is one, and then no array is made for it.
enum Edges {
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

    mutating func take() -> Edges {
        let taken = self
        self = .none
        return taken
    }
}
