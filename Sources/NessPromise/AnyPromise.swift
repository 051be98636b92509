import Dispatch
import NessLock

/// A promise without the type of its value. It lets code keep promises of different types together, and drop them.
///
/// It is also the node of the graph that promises form. A *link* is a registration on a promise: its body runs when that promise settles. A
/// promise that `then` or a similar method returns is itself the link by which it waits on its parent. A waiter that is not a promise, such
/// as a task that awaits `value`, is a bare link.
///
/// `@unchecked Sendable`: `failure` is written once, under the lock `state`, before the promise counts as settled, and is read only after
/// that. The lock of the promise on which a link is registered guards the properties of the link. All other properties are set before the
/// object is shared.
open class AnyPromise: @unchecked Sendable {
    enum Status: Sendable { case pending, fulfilled, rejected, dropped }

    enum Phase {
        /// The link is not registered yet.
        case new
        /// The link is registered, and its body has not started.
        case waiting
        /// The body runs now.
        case running
        /// The body has run. Promises that depend on the link may still have handlers to run.
        case done
        /// The link is finished: neither its body nor a handler that depends on it can run.
        case closed
    }

    /// The closure of a link, which runs when the link's parent settles. It takes the parent, the link, the error, and the runner.
    ///
    /// The error is `nil` if the parent has a value. The runner is `nil` only if the body runs inside the call that registers the link. The
    /// promise that the body settles is then new, and nothing waits on it yet.
    @usableFromInline
    typealias Body = @Sendable (_ parent: AnyPromise, _ link: AnyPromise, _ error: (any Error)?, _ runner: Runner?) -> Void

    /// The state of a promise.
    struct State: Sendable {
        var status = Status.pending
        var links = LinkList()
        /// The promises that this one waits on. They are kept until no handler that depends on this promise is left to run.
        var edges = Edges.none
        /// The closure that runs once when the promise settles. It takes the error if the promise was dropped, and `nil` otherwise.
        var settleHandler: (@Sendable ((any Error)?) -> Void)?

        #if DEBUG
        // For `UnhandledError`.
        var unhandled: UnhandledErrorTicket?
        var place: (file: StaticString, line: UInt)?
        #endif
    }

    final let state = Lock(State())
    // The locks make the runtime's check for overlapping access superfluous. It would take a third of a link's cost.
    @usableFromInline @exclusivity(unchecked) final var failure: (any Error)?

    // The properties of a link. Guarded by the lock of the promise on which the link is registered.
    @exclusivity(unchecked) final var phase = Phase.new
    /// The thread that runs the body, or 0. A blocking wait on that thread for a later link could never end.
    @exclusivity(unchecked) final var thread: ThreadID = 0
    /// The body. The code that moves the link out of the phase `waiting` owns it.
    @usableFromInline @exclusivity(unchecked)
    final var body: Body?

    #if DEBUG
    // For `UnhandledError`. Only the thread that runs the body uses them.
    /// The error of the promise above, while the body runs.
    @exclusivity(unchecked) final var incoming: UnhandledErrorTicket?
    /// True if the promise that this link settles fails with the error of the promise above.
    @usableFromInline @exclusivity(unchecked) final var isPassing = false
    #endif

    // Set before the object is shared.
    final let queue: DispatchQueue?
    /// True if the body also runs when the link is dropped before its body started.
    final let seesDrop: Bool
    /// The promise that the body settles: this promise, another promise for which a bare link works, or none.
    final let target: Target
    /// Makes the error of a `drop()` without a reason. A chain inherits it from the promise with which it started.
    @usableFromInline
    final let makeDropError: (@Sendable () -> any Error)?
    /// Changes the errors of the promise above, even those of a drop that comes from there; `nil` to take them as they are.
    final let errorMapping: ErrorMapping?

    @usableFromInline
    typealias ErrorMapping = @Sendable (any Error) -> any Error

    @usableFromInline
    enum Target {
        case itself
        case other(AnyPromise)
        case none
    }

    /// Makes a promise or a bare link. A promise with a `parent` waits on it, and the caller then registers it there. The other parameters
    /// become the properties with these names.
    @usableFromInline
    init(
        for target: Target = .itself, linkedTo parent: AnyPromise? = nil, on queue: DispatchQueue? = nil, seesDrop: Bool = false,
        makeDropError: (@Sendable () -> any Error)?, errorMapping: ErrorMapping? = nil, body: Body? = nil
    ) {
        self.queue = queue?.canonical
        self.seesDrop = seesDrop
        self.target = target
        self.makeDropError = makeDropError
        self.errorMapping = errorMapping
        if let body { self.body = HandlerScope.bind(body) }
        if let parent { state.withLock { $0.edges = .one(Edge(parent: parent, link: self)) } }
    }

    /// Makes a bare link: a waiter that is not a promise, or that works for another promise.
    @usableFromInline
    static func link(for target: AnyPromise? = nil) -> AnyPromise {
        AnyPromise(for: target.map(Target.other) ?? .none, seesDrop: target == nil, makeDropError: nil)
    }

    /// The promise that the body settles; `nil` for none.
    final var dependent: AnyPromise? {
        switch target {
        case .itself: self
        case .other(let promise): promise
        case .none: nil
        }
    }

    // MARK: the state

    /// A Boolean value that indicates whether the promise has settled.
    public final var isCompleted: Bool { state.withLock { $0.status != .pending } }

    /// The error; `nil` while the promise is pending, and if it has a value.
    public final var error: (any Error)? {
        noteErrorRead()
        return isCompleted ? failure : nil
    }

    /// A Boolean value that indicates whether a drop ended the promise.
    package final var wasDropped: Bool { state.withLock { $0.status == .dropped } }

    /// The number of links that wait for this promise: dependent promises and awaiting tasks.
    package final var waiterCount: Int { state.withLock { $0.links.live } }

    /// The number of links and groups of links that were visited so far, while more than one link was registered. Tests verify costs with
    /// it.
    package final var stepCount: Int { state.withLock { $0.links.steps } }

    // MARK: dropping

    /// Ends this promise immediately with an error, and drops every promise that only this one was waiting for.
    ///
    /// A promise that has settled keeps its outcome. Its handlers that have not started see the drop's error instead of that outcome.
    open func drop() { drop(reason: nil) }

    /// Ends this promise with the given error: see `drop()`.
    /// - Parameter error: The error of this promise, and of all promises that are dropped with it.
    open func drop(becauseOf error: any Error) { drop(reason: error) }

    final func drop(reason: (any Error)?) {
        var walk = DropWalk(becauseOf: reason)
        walk.add(self)
        walk.finish()
    }

    // MARK: for the library

    /// Sets the closure that runs once when the promise settles. It takes the error if the promise was dropped, and `nil` otherwise.
    /// - Returns: False if the promise has settled already. The closure is then not kept.
    @discardableResult @usableFromInline
    package final func onSettle(_ body: @escaping @Sendable ((any Error)?) -> Void) -> Bool {
        state.withLock { state in
            guard state.status == .pending else { return false }
            state.settleHandler = body
            return true
        }
    }
}

/// The edge from a promise to another that it waits on. The link is registered on the other one.
struct Edge: Sendable {
    let parent: AnyPromise
    let link: AnyPromise
}

/// The edges of one promise. Nearly every promise has one, which needs no array.
enum Edges: Sendable {
    case none
    case one(Edge)
    case many([Edge])

    var isEmpty: Bool { if case .none = self { true } else { false } }

    /// Returns true if there is one edge, and its link is the given one.
    func isOnly(_ link: AnyPromise?) -> Bool { if case .one(let edge) = self { edge.link === link } else { false } }

    func forEach(_ body: (Edge) -> Void) {
        switch self {
        case .none: break
        case .one(let edge): body(edge)
        case .many(let edges): edges.forEach(body)
        }
    }

    /// The parent that decides on the error of a drop without a reason.
    var origin: AnyPromise? {
        switch self {
        case .none: nil
        case .one(let edge): edge.parent
        case .many(let edges): (edges.first { $0.parent.makeDropError != nil } ?? edges.first)?.parent
        }
    }

    mutating func take() -> Edges {
        let taken = self
        self = .none
        return taken
    }
}

extension AnyPromise: CustomReflectable {
    /// Only the type, so that dumping a promise shows nothing of what it holds, such as a request's secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["promise": "\(type(of: self))"], ancestorRepresentation: .suppressed)
    }
}
