import Foundation

/// Uploads and downloads. Each call immediately sends a separate request, even if the caller does not keep the promise.
extension RequestBuilder {
    /// Sends a file, which is read during the upload, and keeps the whole response in memory. The file replaces any other body.
    ///
    /// Each attempt sends the whole file.
    /// - Parameter file: The URL of the file. If it cannot be read or becomes shorter, the request fails with
    ///   `NessError.Kind.invalidRequest`.
    /// - Returns: A promise of the response. It fails with `NessError`, or with an error that a custom loader threw.
    @discardableResult
    public func uploadRequest(forFileLocation file: URL) -> UploadPromise {
        UploadPromise(set(body: HTTPBody(file: file)).makeCall(.upload), by: sender)
    }

    /// Sends a file. After a lost connection, a pause or, with a record, the end of the process, the upload continues from the bytes that
    /// the server has. Keeps the whole response in memory. The status must be 2xx. The request's own body is not sent, and the file is never
    /// compressed.
    ///
    /// The retry policy counts from 1 again each time the server has more bytes.
    ///
    /// ```swift
    /// let upload = ness.post("films").uploadRequest(
    ///     forFileLocation: film,
    ///     resuming: .tus(metadata: ["filename": "a.mov"], record: record))
    /// ```
    /// - Parameters:
    ///   - file: The URL of the file. If it cannot be read or changes meanwhile, the request fails with `NessError.Kind.invalidRequest`.
    ///   - resuming: The protocol that the server speaks, and the record.
    ///   - identifier: Identifies the upload in the record in place of the request's URL, for a URL that is different each time.
    /// - Returns: A promise of the response and the upload's URL. It fails with `NessError`: with `malformedResponse` if the server breaks the
    ///   protocol, with `fileSystem` if the record cannot be written or another upload uses it.
    @discardableResult
    public func uploadRequest(
        forFileLocation file: URL, resuming: ResumableUpload, identifiedBy identifier: String? = nil
    ) -> UploadPromise {
        let job = UploadJob(
            resuming, file: file, identifiedBy: identifier, isRepeatable: settings.isIdempotent ?? method.isIdempotent
        ) { message, origin in
            do {
                return try await terminating(message, at: origin).dataRequest().value.message
            } catch let error as NessError where error.kind == .validation {
                // The manager's validators do not judge this response: the protocol reads it.
                guard let response = error.response else { throw error }
                return response
            }
        }
        let upload = with { builder in
            builder.body = .success(nil)
            builder.settings.isIdempotent = true
            builder.validators.insert(StatusCodeValidator.success, at: 0)
        }
        return UploadPromise(upload.makeCall(.upload) { $0.upload = job }, by: sender)
    }

    /// Returns the request that removes an upload from the server.
    private func terminating(_ message: UploadMessage, at origin: UploadOrigin) -> RequestBuilder {
        var fields = origin == .other ? HTTPHeaders() : headers
        fields.removeContentFields()
        fields.remove(UploadJob.creationFields)
        return with { builder in
            (builder.method, builder.url, builder.urlText) = (message.method, .success(message.url), message.url.absoluteString)
            (builder.query, builder.body) = (.success(URLQuery()), .success(message.body))
            (builder.validators, builder.listeners, builder.settings.isIdempotent) = ([], nil, nil)
            builder.headers = fields.merging(message.headers)
            // They belong to the upload: its deadline may have passed, and the removal of another upload must not be shared.
            (builder.duplicateIdentifier, builder.deadlineEnd, builder.gzipsBody) = (nil, nil, false)
            builder.options[SharedDeadline.self] = nil
            switch (origin, authentication) {
            case (.other, _): (builder.authentication, builder.environment) = (.none, ServerEnvironment())
            case (.trusted, .inherited):
                let server = environment ?? sender.environment
                let creation = try? build(in: server)
                if let creation, authentication.authentication(for: creation, in: server) != nil { builder.authentication = .environment }
            default: break
            }
        }
    }

    /// Saves the response in a file. The status must be 2xx, and the validators must accept the response, which they receive without its
    /// body. A HEAD fails with `NessError.Kind.invalidRequest`, because it brings no file.
    ///
    /// Ness writes to a partial file. It replaces the destination only once the download is complete: synced to the disk, and as long as
    /// the server announced. A download resumes the partial file of an earlier one of the same URL to the same destination, if the server
    /// still has that version.
    ///
    /// ```swift
    /// // The signature changes each time, so the key identifies the file.
    /// let url = try await signer.presignedURL(bucket: "films", key: "1.mp4")
    /// ness.get(url)
    ///     .downloadRequest(forSavedLocation: file, identifiedBy: "films/1.mp4")
    /// ```
    /// - Parameters:
    ///   - file: The destination. Its folder must exist, unless `createsFolders` is true.
    ///   - identifier: Identifies the file in place of the URL, for a URL that is different each time, such as a signed one. A download
    ///     resumes the partial file of an earlier one with the same identifier. `nil`: the URL identifies the file.
    ///   - segments: The number of parts to fetch concurrently, if the server supports ranges. The host's connection limit applies.
    ///   - coding: The treatment of a compressed file. By default its download fails.
    ///   - expectation: The digest or the size that the file must have. Otherwise the download fails with `NessError.Kind.validation`,
    ///     whose `underlying` is a `FileMismatch`; the received bytes are deleted, and an existing file stays.
    ///   - createsFolders: True to create the destination's folder, and those above it, before the request is sent.
    /// - Returns: A promise of the file. It fails with `NessError`; the kind is `fileSystem` if the file cannot be written.
    @discardableResult
    public func downloadRequest(
        forSavedLocation file: URL, identifiedBy identifier: String? = nil, segments: Int = 1, coding: DownloadCoding = .refused,
        expecting expectation: FileExpectation? = nil, createsFolders: Bool = false
    ) -> DownloadPromise {
        var target = DownloadTarget(destination: .file(file.standardizedFileURL), segments: segments, coding: coding)
        (target.identifier, target.expectation, target.createsFolders) = (identifier, expectation, createsFolders)
        return DownloadPromise(makeCall(target), by: sender)
    }

    /// Saves the response in a folder, under the name that its Content-Disposition suggests (RFC 6266), or else the URL. The name never
    /// leads out of the folder. An existing file stays: the new file is called `name (2)`.
    ///
    /// A closure can choose the destination instead:
    ///
    /// ```swift
    /// ness.get("photos/1").downloadRequest(intoFolder: photos) { response in
    ///     let isPNG = response.headers["Content-Type"] == "image/png"
    ///     return photos.appending(path: isPNG ? "1.png" : "1.jpg")
    /// }
    /// ```
    ///
    /// The closure must not use strings of the server in a path: `../` leads out of the folder.
    /// - Parameters:
    ///   - folder: The destination folder. It must exist, unless `createsFolders` is true.
    ///   - identifier: Identifies the file in place of the URL, for a URL that is different each time, such as a signed one. A download
    ///     resumes the partial file of an earlier one with the same identifier. `nil`: the URL identifies the file.
    ///   - segments: The number of parts to fetch concurrently, if the server supports ranges. The host's connection limit applies.
    ///   - coding: The treatment of a compressed file. By default its download fails.
    ///   - expectation: The digest or the size that the file must have. Otherwise the download fails with `NessError.Kind.validation`,
    ///     whose `underlying` is a `FileMismatch`; the received bytes are deleted, and an existing file stays.
    ///   - createsFolders: True to create the destination's folder, and those above it, before the request is sent.
    ///   - destination: Chooses the final URL of the file from the response, which has no body. Runs off the main thread when all bytes
    ///     have arrived, before the file is checked and renamed. `folder` then only holds the partial file, so it must be on the same
    ///     volume. An existing file is replaced. An error that the closure throws becomes the `underlying` of `NessError.Kind.fileSystem`,
    ///     and a later download resumes from the received bytes.
    /// - Returns: A promise of the file. It fails with `NessError`; the kind is `fileSystem` if the file cannot be written.
    @discardableResult
    public func downloadRequest(
        intoFolder folder: URL, identifiedBy identifier: String? = nil, segments: Int = 1, coding: DownloadCoding = .refused,
        expecting expectation: FileExpectation? = nil, createsFolders: Bool = false,
        destination: (@Sendable (HTTPResponse) throws -> URL)? = nil
    ) -> DownloadPromise {
        var target = DownloadTarget(destination: .folder(folder.standardizedFileURL), segments: segments, coding: coding)
        (target.identifier, target.expectation, target.createsFolders) = (identifier, expectation, createsFolders)
        target.choose = destination.map { DownloadTarget.Choice($0) }
        return DownloadPromise(makeCall(target), by: sender)
    }

    /// Saves the response in a file, unless the file exists and is still the server's current version.
    ///
    /// When this method fetches a file, it keeps the server's version (ETag, or Last-Modified) beside the file, in `name.ness-version`. A
    /// file that was changed or replaced since then is fetched again, and so is a file whose server names no version. In all other respects
    /// this method works like `downloadRequest(forSavedLocation:)`.
    ///
    /// ```swift
    /// let download = request.downloadRequestIfChanged(forSavedLocation: file)
    /// switch try await download.value {
    /// case .fetched(let new): show(new.dataLocalURL)
    /// case .unchanged: break
    /// }
    /// ```
    /// - Parameters:
    ///   - file: The destination. Its folder must exist, unless `createsFolders` is true.
    ///   - identifier: Identifies the file in place of the URL, for a URL that is different each time, such as a signed one. A download
    ///     resumes the partial file of an earlier one with the same identifier. `nil`: the URL identifies the file.
    ///   - segments: The number of parts to fetch concurrently, if the server supports ranges. The host's connection limit applies.
    ///   - coding: The treatment of a compressed file. By default its download fails.
    ///   - expectation: The digest or the size that the file must have. Otherwise the download fails with `NessError.Kind.validation`,
    ///     whose `underlying` is a `FileMismatch`; the received bytes are deleted, and an existing file stays.
    ///   - createsFolders: True to create the destination's folder, and those above it, before the request is sent.
    /// - Returns: A promise of the file and of whether it was fetched. It fails with `NessError`; the kind is `fileSystem` if the file
    ///   cannot be written.
    @discardableResult
    public func downloadRequestIfChanged(
        forSavedLocation file: URL, identifiedBy identifier: String? = nil, segments: Int = 1, coding: DownloadCoding = .refused,
        expecting expectation: FileExpectation? = nil, createsFolders: Bool = false
    ) -> ConditionalDownloadPromise {
        var target = DownloadTarget(destination: .file(file.standardizedFileURL), segments: segments, coding: coding, isConditional: true)
        (target.identifier, target.expectation, target.createsFolders) = (identifier, expectation, createsFolders)
        return ConditionalDownloadPromise(makeCall(target), by: sender)
    }

    private func makeCall(_ target: DownloadTarget) -> Call {
        with { $0.validators.insert(StatusCodeValidator.success, at: 0) }.makeCall(.download) { $0.download = target }
    }
}
