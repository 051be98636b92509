import Foundation

/// A running download that can be paused and resumed.
public class PausablePromise<Value: Sendable>: RequestPromise<Value>, @unchecked Sendable {
    // `@unchecked` for the same reason as in `RequestPromise`: this class adds one constant.
    private let control: DownloadControl

    init(
        _ sending: PreparedCall, running: RunningRequests, life: DownloadSession,
        load: @escaping @Sendable (Call) async throws -> HTTPResponse, value: @escaping @Sendable (HTTPResponse) throws -> Value
    ) {
        let control = DownloadControl()
        self.control = control
        super.init(sending, running: running, load: { call in try await control.run { try await load(call) } }, value: value)
        life.belongs(to: self)
    }

    /// A Boolean value that indicates whether the download is paused.
    public var isPaused: Bool { !isCompleted && control.isPaused }

    /// The state of the request. A paused request is `.idle`.
    public override var status: RequestStatus { isPaused ? .idle : super.status }

    /// Closes the connection and keeps the received bytes. Has no effect on a download that is paused or has ended. Callable at any time
    /// from any thread.
    ///
    /// While the download is paused, neither its timeout nor its deadline runs; both start over when it is resumed. Observers see a pause
    /// as a drop, and a resume as a new request.
    public func pause() {
        if !isCompleted { control.pause() }
    }

    /// Resumes a paused download. Callable at any time from any thread.
    /// - Returns: `.failToResume` if the download has ended; `.resumed` otherwise, even if it was not paused.
    @discardableResult
    public func resume() -> DownloadResumption {
        if isCompleted { return .failToResume }
        control.resume()
        return .resumed
    }

    override func addControls(to progress: Progress) {
        progress.isPausable = true
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

/// Runs a load again after each pause, until an attempt ends without one.
final class DownloadControl: Sendable {
    /// The error of an attempt that a pause ended.
    fileprivate struct Paused: Error {}

    private struct State: Sendable {
        /// The promise that a paused download waits for.
        var gate: (promise: Promise<Void>, resolver: Resolver<Void>)?
        var attempt: Promise<HTTPResponse>?
    }

    private let state = Lock(State())

    var isPaused: Bool { state.withLock { $0.gate != nil } }

    func run(_ load: @escaping @Sendable () async throws -> HTTPResponse) async throws -> HTTPResponse {
        while true {
            if let gate = state.withLock({ $0.gate?.promise }) { try await gate.value }
            try Task.checkCancellation()
            let attempt = Promise(operation: load)
            let isPaused = state.withLock { state in
                state.attempt = attempt
                return state.gate != nil
            }
            if isPaused { attempt.drop(becauseOf: Paused()) }
            do {
                return try await attempt.value
            } catch is Paused {
                // The attempt may have ended just before the pause.
                if let outcome = attempt.outcome, !outcome.isPaused { return try outcome.get() }
            }
        }
    }

    func pause() {
        let attempt = state.withLock { state in
            if state.gate == nil { state.gate = Promise<Void>.pending() }
            return state.attempt
        }
        attempt?.drop(becauseOf: Paused())
    }

    func resume() {
        let resolver = state.withLock { state in
            defer { state.gate = nil }
            return state.gate?.resolver
        }
        resolver?.resolve(())
    }
}

extension Result where Failure == any Error {
    fileprivate var isPaused: Bool {
        if case .failure(let error) = self { return error is DownloadControl.Paused }
        return false
    }
}
