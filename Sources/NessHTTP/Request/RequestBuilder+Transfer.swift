import Foundation

/// Starting uploads, downloads and streams. Each call is a request of its own, and starts at once, whether or not anyone keeps the promise.
extension RequestBuilder {
    /// Sends a file, which is read while it is sent, and keeps the whole response in memory. The file takes the place of any other body.
    /// - Parameters:
    ///   - file: Where the file is. One that can't be read, or becomes shorter, makes the request fail with `NessError.invalidRequest`.
    ///   - retryControl: What decides on further attempts, instead of the manager's; each sends the whole file.
    /// - Returns: A promise of the response. It fails with `NessError`, or with what a loader of the caller's threw.
    @discardableResult
    public func uploadRequest(forFileLocation file: URL, with retryControl: (any RetryControl)? = nil) -> UploadPromise {
        UploadPromise(set(body: HTTPBody(file: file)).prepared(.upload, retryControl), running: sender.running) { [sender] call in
            try await sender.perform(call)
        } value: { response in
            DataResult(message: response)
        }
    }

    /// Saves the response in a file. The status has to be 2xx, besides what the validators want; they see the response without its body.
    ///
    /// The file appears under its name when it is whole, on the disk and as long as the server said; a file that is there stays as it is
    /// until then. What an earlier download of the same URL to the same place left is continued, if the server still has that version.
    /// - Parameters:
    ///   - file: Where to. Its folder has to be there.
    ///   - segments: How many parts are fetched side by side, where the server allows; at most as many run as the host's limit allows.
    ///   - coding: The treatment of a file that comes compressed; the download fails unless given.
    ///   - retryControl: What decides on further attempts, instead of the manager's; each goes on where the last one was.
    /// - Returns: A promise of the file. It fails with `NessError`; `fileSystem` for what the disk refuses.
    @discardableResult
    public func downloadRequest(
        forSavedLocation file: URL, segments: Int = 1, coding: DownloadCoding = .refused, with retryControl: (any RetryControl)? = nil
    ) -> DownloadPromise {
        download(DownloadTarget(place: .file(file.standardizedFileURL), segments: segments, coding: coding), retryControl)
    }

    /// Saves the response in a folder, under the name that its Content-Disposition suggests (RFC 6266), or else the URL. The name never leads out
    /// of the folder, and a file that is there stays: the new one is called `name (2)`.
    /// - Parameters:
    ///   - folder: Where to. It has to be there.
    ///   - segments: How many parts are fetched side by side, where the server allows.
    ///   - coding: The treatment of a file that comes compressed; the download fails unless given.
    ///   - retryControl: What decides on further attempts, instead of the manager's; each goes on where the last one was.
    /// - Returns: A promise of the file. It fails with `NessError`; `fileSystem` for what the disk refuses.
    @discardableResult
    public func downloadRequest(
        intoFolder folder: URL, segments: Int = 1, coding: DownloadCoding = .refused, with retryControl: (any RetryControl)? = nil
    ) -> DownloadPromise {
        download(DownloadTarget(place: .folder(folder.standardizedFileURL), segments: segments, coding: coding), retryControl)
    }

    /// Saves the response in a file, unless the file is there already and the server still has that version.
    ///
    /// The version is what the server called it (ETag, or Last-Modified) when this method fetched the file. It is kept beside the file, in
    /// `name.ness-version`. A file that was changed or replaced since is fetched anew, and so is one whose server names no version. In all else
    /// this is `downloadRequest(forSavedLocation:)`.
    ///
    /// ```swift
    /// switch try await request.downloadRequestIfChanged(forSavedLocation: file).value {
    /// case .fetched(let new): show(new.dataLocalURL)
    /// case .unchanged: break
    /// }
    /// ```
    /// - Parameters:
    ///   - file: Where to. Its folder has to be there.
    ///   - segments: How many parts are fetched side by side, where the server allows; at most as many run as the host's limit allows.
    ///   - coding: The treatment of a file that comes compressed; the download fails unless given.
    ///   - retryControl: What decides on further attempts, instead of the manager's; each goes on where the last one was.
    /// - Returns: A promise of the file, and of whether it was fetched. It fails with `NessError`; `fileSystem` for what the disk refuses.
    @discardableResult
    public func downloadRequestIfChanged(
        forSavedLocation file: URL, segments: Int = 1, coding: DownloadCoding = .refused, with retryControl: (any RetryControl)? = nil
    ) -> ConditionalDownloadPromise {
        let target = DownloadTarget(place: .file(file.standardizedFileURL), segments: segments, coding: coding, isConditional: true)
        return ConditionalDownloadPromise(prepared(target, retryControl), running: sender.running, life: target.life, load: load)
    }

    private func download(_ target: DownloadTarget, _ retryControl: (any RetryControl)?) -> DownloadPromise {
        DownloadPromise(prepared(target, retryControl), running: sender.running, life: target.life, load: load)
    }

    private func prepared(_ target: DownloadTarget, _ retryControl: (any RetryControl)?) -> PreparedCall {
        with { $0.validators.insert(StatusCodeValidator.success, at: 0) }.prepared(.download, retryControl) { $0.download = target }
    }

    private var load: @Sendable (Call) async throws -> HTTPResponse {
        { [sender] call in
            call.tracker.restoreRenewals()
            return try await sender.perform(call)
        }
    }
}
