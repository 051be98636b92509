import Foundation

/// A download into a file. It can be paused, and goes on where it was: after a pause, for a retry, and in another run of the program.
///
/// What has come lies in a partial file beside the destination until it is whole. Dropping the promise leaves that file there, for a new
/// download of the same URL to the same place to continue, if the server gave the file a version (a strong ETag, or a Last-Modified).
public final class DownloadPromise: RequestPromise<DownloadResult>, @unchecked Sendable {
    // `@unchecked` as `RequestPromise` is: what this class adds is one constant.
    private let control: DownloadControl

    init(
        _ sending: PreparedCall, running: RunningRequests, life: DownloadLife,
        load: @escaping @Sendable (Call) async throws -> HTTPResponse
    ) {
        let control = DownloadControl()
        self.control = control
        super.init(sending, running: running) { call in
            try await control.run { try await load(call) }
        } value: { response in
            try DownloadResult(message: response)
        }
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

/// What a download promises.
public struct DownloadResult: Sendable {
    /// The response, without its body: that is in the file. A download that was continued has the status and the length of the whole.
    public let message: HTTPResponse
    /// Where the file is.
    public let dataLocalURL: URL

    init(message: HTTPResponse) throws {
        guard let file = message.file else {
            throw NessError.validation(
                NessError.Context(
                    request: message.request, response: message, reason: "the response was not saved: the status is \(message.statusCode)"))
        }
        self.message = message
        dataLocalURL = file
    }
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
