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
    ///   - retryControl: What decides on further attempts, instead of the manager's; each goes on where the last one was.
    /// - Returns: A promise of the file. It fails with `NessError`; `fileSystem` for what the disk refuses.
    @discardableResult
    public func downloadRequest(
        forSavedLocation file: URL, segments: Int = 1, with retryControl: (any RetryControl)? = nil
    ) -> DownloadPromise {
        download(DownloadTarget(place: .file(file.standardizedFileURL), segments: segments), retryControl)
    }

    /// Saves the response in a folder, under the name that its Content-Disposition suggests (RFC 6266), or else the URL. The name never leads out
    /// of the folder, and a file that is there stays: the new one is called `name (2)`.
    /// - Parameters:
    ///   - folder: Where to. It has to be there.
    ///   - segments: How many parts are fetched side by side, where the server allows.
    ///   - retryControl: What decides on further attempts, instead of the manager's; each goes on where the last one was.
    /// - Returns: A promise of the file. It fails with `NessError`; `fileSystem` for what the disk refuses.
    @discardableResult
    public func downloadRequest(
        intoFolder folder: URL, segments: Int = 1, with retryControl: (any RetryControl)? = nil
    ) -> DownloadPromise {
        download(DownloadTarget(place: .folder(folder.standardizedFileURL), segments: segments), retryControl)
    }

    private func download(_ target: DownloadTarget, _ retryControl: (any RetryControl)?) -> DownloadPromise {
        let builder = with { $0.validators.insert(StatusCodeValidator.success, at: 0) }
        let sending = builder.prepared(.download, retryControl) { $0.download = target }
        return DownloadPromise(sending, running: sender.running, life: target.life) { [sender] call in
            call.tracker.restoreRenewals()
            return try await sender.perform(call)
        }
    }
}
