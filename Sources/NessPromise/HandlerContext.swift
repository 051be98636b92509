import Dispatch

/// Where a handler runs: a `DispatchQueue`, or `.immediate`.
///
/// ```swift
/// promise.then(on: .main) { … }          // the main queue
/// promise.then(on: myQueue) { … }        // any queue
/// promise.then(on: .immediate) { … }     // the thread that settles the promise, or this one if it is settled
/// promise.then { … }                     // `.default`: the global concurrent queue
/// ```
public protocol HandlerContext: Sendable {
    /// The queue handlers are sent to; nil runs them at once, in whatever thread gets there.
    var handlerQueue: DispatchQueue? { get }
}

extension DispatchQueue: HandlerContext {
    /// The queue itself.
    public var handlerQueue: DispatchQueue? { self }
}

/// Runs a handler inside the call that settles its promise, or inside the call that registers it if the promise is settled.
///
/// It is the fastest place and the one with obligations: the thread is whichever got there, so a handler must be short and must
/// not block.
public struct ImmediateContext: HandlerContext {
    /// Nil: no queue at all.
    public var handlerQueue: DispatchQueue? { nil }
}

// One wrapper for each: on Linux `DispatchQueue.main` and `.global()` make a new object at every call.
let mainQueue = DispatchQueue.main
let globalQueue = DispatchQueue.global()

extension HandlerContext where Self == DispatchQueue {
    /// The main queue.
    public static var main: DispatchQueue { mainQueue }
    /// The global concurrent queue of default quality of service, which is where handlers run unless they say otherwise.
    public static var `default`: DispatchQueue { globalQueue }
}

/// The main queue, for closures that are isolated to the main actor: `then(on: .main)` may touch what only the main actor may.
public struct MainActorContext: HandlerContext {
    /// The main queue.
    public var handlerQueue: DispatchQueue? { mainQueue }
    /// The main queue.
    public static var main: MainActorContext { MainActorContext() }
}

extension HandlerContext where Self == ImmediateContext {
    /// No queue: inside the call that settles, or registers.
    public static var immediate: ImmediateContext { ImmediateContext() }
}
