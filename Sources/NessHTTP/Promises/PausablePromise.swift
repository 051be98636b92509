import Foundation

/// A running upload or download that can be paused and resumed.
///
/// `@unchecked Sendable` like `RequestPromise`: the class adds no state.
public class PausablePromise<Value: Sendable>: RequestPromise<Value>, @unchecked Sendable {
    /// A Boolean value that indicates whether the transfer is paused.
    public var isPaused: Bool { !isCompleted && call.isPaused }

    /// Closes the connection. Callable at any time from any thread.
    ///
    /// Has no effect on a transfer that is paused or has ended, or whose request must not be sent again, such as a POST. To pause a POST,
    /// declare it repeatable with `set(isIdempotent: true)`, or make the upload resumable.
    ///
    /// The request continues when it is resumed: a download from the bytes that it has, a resumable upload from those that the server has.
    /// Any other upload starts again. The time of the pause counts neither for the timeout nor for the deadline. Observers are notified of
    /// the pause (`RequestObserver.requestDidPause(_:)`).
    public func pause() {
        if !isCompleted, call.request.isIdempotent { call.pause() }
    }

    /// Resumes a paused transfer. Callable at any time from any thread.
    /// - Returns: `.failToResume` if the transfer has ended; `.resumed` otherwise, even if it was not paused.
    @discardableResult
    public func resume() -> TransferResumption {
        if isCompleted { return .failToResume }
        call.resume()
        return .resumed
    }

    override func addControls(to progress: Progress) {
        progress.isPausable = call.request.isIdempotent
        progress.pausingHandler = { [weak self] in self?.pause() }
        progress.resumingHandler = { [weak self] in _ = self?.resume() }
    }
}

/// The result of `resume()`.
public enum TransferResumption: Sendable, Hashable {
    /// The transfer continues.
    case resumed
    /// The transfer has ended: it finished, failed or was dropped. A new download to the same destination resumes from the received bytes,
    /// and a new upload with the same record from the bytes that the server has.
    case failToResume
}
