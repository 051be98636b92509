import NessLock

/// A download to one file, which its callers share. It owns the partial file and its record, the claim to them, and the exchanges of each
/// run.
///
/// A caller attaches when it enters a flight of the job, and detaches when its call ends. A pause ends a run, but keeps the caller
/// attached. A run is one flight's attempt at the download. Runs use the file one after another, first in, first out, even those of several
/// jobs with equal requests.
///
/// | callers | run | state | a download of another request to the same file |
/// |---|---|---|---|
/// | some | one | fetches the file | fails |
/// | some | none | paused, or before the next attempt | fails |
/// | none | one | dropped, and about to close the file | waits |
/// | none | none | ended | starts |
///
/// `@unchecked Sendable`: the lock of `places` guards every variable, because the state of one job decides about others.
final class DownloadJob: @unchecked Sendable {
    /// A partial file that jobs want to use. A class, so that it changes in place. `@unchecked Sendable` as the job.
    private final class Place: @unchecked Sendable {
        let path: String
        /// The request of all jobs that have callers.
        var identity: DownloadIdentity
        /// The number of jobs that have callers.
        var jobs = 0
        /// True while a run uses the file.
        var isBusy = false
        var waiting = WaiterQueue<Waiter>()

        init(_ path: String, _ identity: DownloadIdentity) { (self.path, self.identity) = (path, identity) }

        var isUnused: Bool { jobs == 0 && !isBusy }
        var claimError: FileError {
            FileError("another download\(isBusy ? "" : ", which is paused,") is using this destination")
        }
    }

    /// The partial files in use, by their paths. All managers share them: a download of one may follow a dropped download of another.
    private static let places = Lock<[String: Place]>([:])

    private var callers = 0
    /// The file of the last run.
    private var place: Place?
    /// The response of a run that has saved the file.
    private var saved: (response: HTTPResponse, identity: DownloadIdentity, file: FileIdentity)?
    private let opener = PartialFileOpener()

    // MARK: callers

    /// Attaches a caller, until `detach()`.
    func attach() {
        Self.places.withLock { _ in
            callers += 1
            if callers == 1 { place?.jobs += 1 }
        }
    }

    /// Detaches a caller, whose call has ended, or who has attached to another job.
    func detach() {
        Self.places.withLock { places in
            callers -= 1
            if callers == 0 { abandonPlace(&places) }
        }
    }

    private func abandonPlace(_ places: inout [String: Place]) {
        guard let place else { return }
        place.jobs -= 1
        Self.removeIfUnused(place, &places)
    }

    private static func removeIfUnused(_ place: Place, _ places: inout [String: Place]) {
        if place.isUnused, places[place.path] === place { places[place.path] = nil }
    }

    /// Forgets the response of an earlier run. A caller whose last flight was not interrupted by a pause has seen that response, or a later
    /// one.
    func forgetResponse() {
        // Released outside the lock.
        _ = Self.places.withLock { _ in saved.take() }
    }

    // MARK: runs

    /// Fetches a file, or returns the response of a run that has saved it since `forgetResponse()`.
    ///
    /// Without the saved response, a pause just after the rename would download the file again, and leave two copies in a folder. A paused
    /// caller also receives the file that other callers have received meanwhile.
    /// - Throws: `FileError` if another download uses the file; `CancellationError`; the errors of `DownloadRun.run()`.
    func run(_ download: DownloadRequest) async throws -> HTTPResponse {
        try download.checkRequest()
        let identity = download.identity
        return try await claim(download.partialPath, for: identity) {
            if let response = savedResponse(to: identity) { return response }
            if let response = try await download.existingFile() { return response }
            let run = DownloadRun(download, try await opener.open(for: download))
            let response = try await run.run()
            if let path = response.file?.path {
                opener.removeTemporaryFolder()
                let file = FileIdentity(of: path)
                let next = file.map { (response: response, identity: identity, file: $0) }
                // The old response is released outside the lock.
                _ = Self.places.withLock { _ in
                    defer { saved = next }
                    return saved
                }
            }
            return response
        }
    }

    private func savedResponse(to identity: DownloadIdentity) -> HTTPResponse? {
        guard let saved = Self.places.withLock({ _ in saved }), saved.identity == identity, let path = saved.response.file?.path,
            FileIdentity(of: path) == saved.file
        else { return nil }
        return saved.response
    }

    /// Runs an operation while no other run uses the partial file.
    /// - Throws: `FileError` if a job of another request uses the file; `CancellationError`; the operation's error.
    func claim<Value: Sendable>(
        _ path: String, for identity: DownloadIdentity, _ operation: () async throws -> Value
    ) async throws -> Value {
        let (place, waiter) = try acquire(path, identity)
        try await waiter?.wait()
        defer { Self.release(place) }
        try Task.checkCancellation()
        return try await operation()
    }

    /// Takes the file, or joins the queue for it.
    private func acquire(_ path: String, _ identity: DownloadIdentity) throws -> (place: Place, waiter: Waiter?) {
        try Self.places.withLock { places in
            // The callers have ended since the run started.
            guard callers > 0 else { throw CancellationError() }
            let wanted = places[path] ?? Place(path, identity)
            let hasOtherJobs = wanted.jobs > (wanted === place ? 1 : 0)
            guard wanted.identity == identity || !hasOtherJobs else { throw wanted.claimError }
            if wanted !== place {
                abandonPlace(&places)
                (place, places[path]) = (wanted, wanted)
                wanted.jobs += 1
            }
            wanted.identity = identity
            if wanted.isBusy {
                return (wanted, wanted.waiting.join { id in Waiter { _ = Self.places.withLock { _ in wanted.waiting.leave(id) } } })
            }
            wanted.isBusy = true
            return (wanted, nil)
        }
    }

    /// Hands the file to the run that has waited longest.
    private static func release(_ place: Place) {
        // A run that was canceled at this moment does not take the file: the next one does.
        while let waiter = takeNextWaiter(of: place), !waiter.resume() {}
    }

    private static func takeNextWaiter(of place: Place) -> Waiter? {
        places.withLock { places in
            if let waiter = place.waiting.takeFirst() { return waiter }
            place.isBusy = false
            removeIfUnused(place, &places)
            return nil
        }
    }

    /// The number of runs that wait for a partial file; `nil` if no job uses the file.
    static func waitingCount(_ path: String) -> Int? { places.withLock { $0[path]?.waiting.count } }
}
