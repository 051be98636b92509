import Dispatch

/// The place where a handler runs: a `DispatchQueue`, or `.immediate`.
///
/// ```swift
/// // `.default`: the global concurrent queue
/// promise.then { name in print(name) }
/// // Any queue, such as `.main`
/// promise.then(on: queue) { name in print(name) }
/// // The thread that settles the promise, or this one if it has settled
/// promise.then(on: .immediate) { name in print(name) }
/// // The main actor
/// promise.then(onMain: { name in label.text = name })
/// ```
public protocol HandlerContext: Sendable {
    /// The queue on which handlers run; `nil` to run them immediately, on the thread that settles the promise or adds the handler.
    var handlerQueue: DispatchQueue? { get }
}

extension HandlerContext {
    /// Returns a closure that runs another one in this context.
    package func running<Value: Sendable>(_ body: @escaping @Sendable (Value) -> Void) -> @Sendable (Value) -> Void {
        guard let queue = handlerQueue else { return body }
        return { value in queue.async { body(value) } }
    }
}

extension DispatchQueue: HandlerContext {
    /// The queue itself.
    public var handlerQueue: DispatchQueue? { self }
}

/// Runs a handler inside the call that settles its promise, or inside the call that registers it if the promise is settled.
///
/// This is the fastest context. The handler must be short and must not block, because it may run on any thread.
public struct ImmediateContext: HandlerContext {
    /// `nil`: no queue.
    public var handlerQueue: DispatchQueue? { nil }
}

// One object for each queue, because on Linux `DispatchQueue.main` and `.global()` make a new object at every call.
let mainQueue = DispatchQueue.main
let globalQueue = DispatchQueue.global()

extension HandlerContext where Self == DispatchQueue {
    /// The main queue.
    public static var main: DispatchQueue { mainQueue }
    /// The global concurrent queue of default quality of service. Handlers run there by default.
    public static var `default`: DispatchQueue { globalQueue }
}

extension HandlerContext where Self == ImmediateContext {
    /// No queue: handlers run inside the call that settles the promise, or that adds the handler to a settled promise.
    public static var immediate: ImmediateContext { ImmediateContext() }
}
