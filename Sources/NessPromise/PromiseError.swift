/// An error of a promise itself, as opposed to an error of the work behind it.
public enum PromiseError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The promise was dropped: by `drop()`, by the cancellation of a task that awaited it, or because its last waiter left.
    case dropped
    /// The time limit of `timeout(after:)` or `wait(timeout:)` passed before the promise settled.
    case timedOut
    /// The promise's `Resolver` was released without having settled the promise.
    case abandoned
    /// The promise would have to wait for itself.
    case cycle
    /// `wait(timeout:)` was called on a queue or a thread that the promise needs in order to settle.
    case wouldDeadlock
    /// A callback gave neither a value nor an error, or the closure of `compactMap` returned `nil`.
    case noValue
    /// `any` or `race` received no promises.
    case noPromises

    /// The error in one line, for a person.
    public var description: String {
        switch self {
        case .dropped: "the promise was dropped"
        case .timedOut: "the promise timed out"
        case .abandoned: "the promise's resolver was released before it settled the promise"
        case .cycle: "the promise was resolved with a promise that waits for it"
        case .wouldDeadlock: "waiting here would deadlock: the promise needs the queue or the thread that the wait would block"
        case .noValue: "there is no value"
        case .noPromises: "there is no promise to wait for"
        }
    }
}

/// An error that knows whether it stands for a drop.
package protocol DropError: Error {
    /// True if the error says that the caller did not want the value any more.
    var isDrop: Bool { get }
}

extension PromiseError: DropError {
    package var isDrop: Bool { self == .dropped }
}

extension AnyPromise {
    /// Returns true for the error of a drop or of a canceled task.
    @usableFromInline
    static func isDrop(_ error: any Error) -> Bool { (error as? any DropError)?.isDrop ?? (error is CancellationError) }
}
