import Foundation

/// A running download that can be paused and resumed.
///
/// `@unchecked Sendable` like `RequestPromise`: the class adds no state.
public class PausablePromise<Value: Sendable>: RequestPromise<Value>, @unchecked Sendable {
    /// A Boolean value that indicates whether the download is paused.
    public var isPaused: Bool { !isCompleted && call.isPaused }

    /// Closes the connection and keeps the received bytes. Callable at any time from any thread.
    ///
    /// Has no effect on a download that is paused or has ended, or whose request is not idempotent, such as a POST: a resume would send the
    /// request again. To pause a POST, declare it repeatable with `set(isIdempotent: true)`.
    ///
    /// The request continues when it is resumed. The time of the pause counts neither for its timeout nor for its deadline. Observers are
    /// notified of the pause (`RequestObserver.requestDidPause(_:)`).
    public func pause() {
        if !isCompleted, call.request.isIdempotent { call.pause() }
    }

    /// Resumes a paused download. Callable at any time from any thread.
    /// - Returns: `.failToResume` if the download has ended; `.resumed` otherwise, even if it was not paused.
    @discardableResult
    public func resume() -> DownloadResumption {
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
public enum DownloadResumption: Sendable, Hashable {
    /// The download continues.
    case resumed
    /// The download has ended: it finished, failed or was dropped. A new download to the same destination resumes from the received bytes.
    case failToResume
}
