import Dispatch
import NessLock

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// An error of a promise that no code has handled: no `handle`, `recover` or `finally` took it, no task awaited it, and no code read it.
///
/// A debug build reports such an error once, when the last promise with that error is released. It reports neither drops and cancellations,
/// nor errors of a request or of `Promise.pending()` whose promise nobody uses. A release build does not look for these errors.
///
/// ```swift
/// // Instead of a line on standard error:
/// AnyPromise.onUnhandledError = { print($0) }
/// // No reports:
/// AnyPromise.onUnhandledError = nil
/// ```
public struct UnhandledError: Sendable, CustomStringConvertible {
    /// The error.
    public let error: any Error
    /// The file of the call that made the last promise with this error, as `#fileID`.
    public let file: String
    /// The line of that call.
    public let line: UInt

    /// The place and the error in one line.
    public var description: String { "\(file):\(line): an error of this promise was not handled: \(error)" }
}

extension AnyPromise {
    private static let unhandledErrorHandler = Lock<(@Sendable (UnhandledError) -> Void)?>({ error in
        // One call, so that lines of several threads do not mix.
        let line = Array("\(error)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    })

    /// Takes the errors that no code has handled, in debug builds. It runs on a global queue. The initial closure writes a line to standard
    /// error. `nil` turns the reports off.
    public static var onUnhandledError: (@Sendable (UnhandledError) -> Void)? {
        get { unhandledErrorHandler.withLock { $0 } }
        set {
            // `replace` releases the old closure outside the lock: it may hold the last promise of an unhandled error, which then takes
            // this lock.
            unhandledErrorHandler.replace(\.self, with: newValue)
        }
    }

    // Each of the following functions does nothing in a release build, and is inlined there.

    /// Notes the place of the call that made this promise.
    @inlinable @discardableResult
    final func notePlace(_ file: StaticString, _ line: UInt) -> Self {
        #if DEBUG
        setPlace(file, line)
        #endif
        return self
    }

    /// Notes that this link's closure takes the error of the promise above.
    @inlinable
    final func noteErrorHandled() {
        #if DEBUG
        markIncomingErrorHandled()
        #endif
    }

    /// Notes that this link passes the error of the promise above to the promise that it settles.
    @inlinable
    final func noteErrorPassed() {
        #if DEBUG
        isPassing = true
        #endif
    }

    /// Notes that some code has read the error of this promise.
    @inlinable
    final func noteErrorRead() {
        #if DEBUG
        markErrorHandled()
        #endif
    }
}

#if DEBUG
/// An error on its way from promise to promise. It reports the error when the last of them is released, unless some code has handled it.
final class UnhandledErrorTicket: Sendable {
    private struct State: Sendable {
        var isHandled = false
        var file: StaticString?
        var line: UInt = 0
    }

    private let error: any Error
    private let state = Lock(State())

    init(_ error: any Error) { self.error = error }

    func markHandled() { state.withLock { $0.isHandled = true } }

    /// Sets the place of the latest promise with this error. A place inside this package would not help the reader.
    func move(to file: StaticString?, _ line: UInt) {
        guard let file else { return }
        let name = file.description
        if ["NessPromise/", "NessHTTP/", "NessTesting/"].contains(where: name.hasPrefix) { return }
        state.withLock { ($0.file, $0.line) = (file, line) }
    }

    deinit {
        let state = state.withLock { $0 }
        guard !state.isHandled, let file = state.file, let report = AnyPromise.onUnhandledError else { return }
        let unhandled = UnhandledError(error: error, file: file.description, line: state.line)
        // The code that released the promise may hold a lock.
        globalQueue.async { report(unhandled) }
    }
}

extension AnyPromise {
    @usableFromInline
    final func setPlace(_ file: StaticString, _ line: UInt) {
        let ticket = state.withLock { state in
            state.place = (file, line)
            return state.unhandled
        }
        ticket?.move(to: file, line)
    }

    @usableFromInline
    final func markIncomingErrorHandled() { incoming?.markHandled() }

    @usableFromInline
    final func markErrorHandled() { state.withLock { $0.unhandled }?.markHandled() }
}

extension AnyPromise.State {
    /// Notes the error with which the promise fails.
    /// - Parameter link: The link whose body settles the promise; `nil` if no link does.
    mutating func noteFailure(_ error: any Error, by link: AnyPromise?) {
        if let link, link.isPassing {
            unhandled = link.incoming
        } else if !AnyPromise.isDrop(error) {
            unhandled = UnhandledErrorTicket(error)
        }
        unhandled?.move(to: place?.file, place?.line ?? 0)
    }
}
#endif
