import Foundation

/// A running request that can be paused, and goes on where it was.
public class PausablePromise<Value: Sendable>: RequestPromise<Value>, @unchecked Sendable {
    // `@unchecked` as `RequestPromise` is: what this class adds is one constant.
    private let control: DownloadControl

    init(
        _ sending: PreparedCall, running: RunningRequests, life: DownloadLife,
        load: @escaping @Sendable (Call) async throws -> HTTPResponse, value: @escaping @Sendable (HTTPResponse) throws -> Value
    ) {
        let control = DownloadControl()
        self.control = control
        super.init(sending, running: running, load: { call in try await control.run { try await load(call) } }, value: value)
        life.belongs(to: self)
    }

    /// Whether the download is paused.
    public var isPaused: Bool { !isCompleted && control.isPaused }

    /// Where the request is; a paused one is idle.
    public override var status: RequestStatus { isPaused ? .idle : super.status }

    /// Closes the connection and keeps what has come. Callable at any time from any thread; a download that is paused or over stays as it is.
    /// While it is paused neither its timeout nor its deadline runs; when it goes on both begin anew. Observers see a pause as a drop, and a
    /// resume as a new request.
    public func pause() {
        if !isCompleted { control.pause() }
    }

    /// Goes on where the download was paused. Callable at any time from any thread.
    /// - Returns: `.failToResume` if the download is over; else `.resumed`, also where it was not paused.
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

/// What became of the wish to go on with a download.
public enum DownloadResumption: Sendable, Hashable {
    /// It goes on.
    case resumed
    /// It has ended: finished, failed or dropped. A new download to the same place goes on with what has come.
    case failToResume
}

/// Runs a load again and again until it is not interrupted by a pause.
final class DownloadControl: Sendable {
    /// The error of an attempt that a pause ended.
    fileprivate struct Paused: Error {}

    private struct State: Sendable {
        /// What a paused download waits for.
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
                // It may have had its end just before.
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
