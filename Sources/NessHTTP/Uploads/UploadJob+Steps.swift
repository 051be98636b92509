import Foundation

/// The steps of an attempt.
extension UploadJob {
    /// The fields of the caller's request that concern its creation only, besides those that describe the content.
    static let creationFields = [
        HeaderName.ifMatch, HeaderName.ifNoneMatch, HeaderName.ifModifiedSince, HeaderName.ifUnmodifiedSince, HeaderName.ifRange,
        HeaderName.range, "Idempotency-Key",
    ]

    /// Takes the steps that are left.
    func takeSteps(of upload: inout RunningUpload, _ attempt: some UploadAttempt) async throws -> HTTPResponse {
        var isLocated = false, conflicts = 0, last: HTTPResponse?
        while true {
            let step: UploadStep =
                upload.url == nil ? .create : !isLocated ? .locate : upload.offset < upload.length ? .send : .finish
            guard let message = try await description.uploadProtocol.message(for: step, of: upload) else {
                if step == .finish, let last { return try await completed(upload, with: last, attempt) }
                if step == .locate, try await startOver(&upload, attempt, "the protocol cannot continue it") { continue }
                throw InvalidRequest("the protocol \(description.uploadProtocol.name) has no step to \(step.rawValue) an upload")
            }
            guard message.bytes.lowerBound >= 0 else { throw InvalidRequest("the positions of a part cannot be negative") }
            let before = upload, mayComplete = mayComplete(message, step, upload)
            if mayComplete { try await save(upload, mayBeComplete: true, attempt) }
            let response = try await send(message, for: step, of: upload, mayComplete: mayComplete, attempt)
            last = response
            let verdict = description.uploadProtocol.read(response, to: step, of: &upload)
            // An interim response may have named them.
            let interim = state.withLock { $0.upload }
            upload.url = upload.url ?? interim?.url
            upload.maximumPartSize = upload.maximumPartSize ?? interim?.maximumPartSize
            switch verdict {
            case .accepted:
                try checkURL(of: upload, message, response, attempt)
                if let reason = fault(in: upload, after: before, step, message, response) {
                    throw failure(reason, response, mayComplete: mayComplete, upload, attempt)
                }
                noteOffset(of: upload, attempt)
                if upload.isComplete { return try await completed(upload, with: response, attempt) }
                if upload.offset > before.offset { conflicts = 0 }
                isLocated = true
                state.withLock { $0.mayBeComplete = false }
                try await save(upload, attempt)
            case .conflict:
                conflicts += 1
                // The server may only repeat itself if it names a smaller limit each time.
                let isSmaller = upload.maximumPartSize.map { $0 < before.maximumPartSize ?? .max } ?? false
                guard isSmaller ? conflicts < 4 : conflicts < 2 && upload.url != nil else { return response }
                let named = (upload.url, upload.maximumPartSize)
                upload = before
                (upload.url, upload.maximumPartSize) = named
                isLocated = false
            case .gone where step != .create:
                guard try await startOver(&upload, attempt, "the server no longer knows it (\(response.statusCode))", response) else {
                    return response
                }
                isLocated = false
            case .rejected where response.statusCode == 423:
                throw attempt.error(.connectionLost, "the server is still busy with an earlier request (423)", response: response)
            case .gone, .rejected:
                guard mayComplete else { return response }
                // A gateway that gives up may have passed the request on.
                guard response.statusCode == 408 || response.statusCode >= 500 else {
                    // The record assumes that everything was received.
                    if let known = state.withLock({ $0.upload }) { try? await save(known, attempt) }
                    return response
                }
                state.withLock { $0.mayBeComplete = true }
                guard upload.url == nil else { return response }
                let reason = "status \(response.statusCode) after the whole file was sent"
                throw Self.final(attempt.error(.validation, reason, response: response))
            case .failed:
                try await removeRecord()
                let reason = "the server has the whole file, but rejects it"
                throw Self.final(attempt.error(.validation, reason, response: response), because: reason)
            case .invalid(let reason): throw failure(reason, response, mayComplete: mayComplete, upload, attempt)
            }
        }
    }

    /// Returns true for a request after which the server may have all that it needs to act, even if its response is lost.
    private func mayComplete(_ message: UploadMessage, _ step: UploadStep, _ upload: RunningUpload) -> Bool {
        guard !isRepeatable, step != .locate else { return false }
        return step == .finish || message.bytes.upperBound == upload.length
    }

    /// Makes the error of a response that breaks the protocol.
    private func failure(
        _ reason: String, _ response: HTTPResponse, mayComplete: Bool, _ upload: RunningUpload, _ attempt: some UploadAttempt
    ) -> NessError {
        let error = attempt.error(.malformedResponse, reason, response: response)
        guard mayComplete else { return error }
        state.withLock { $0.mayBeComplete = true }
        return upload.url == nil ? Self.final(error) : error
    }

    /// Returns the reason why a response cannot be right, or would not move the upload; `nil` if it can be right.
    private func fault(
        in upload: RunningUpload, after before: RunningUpload, _ step: UploadStep, _ message: UploadMessage, _ response: HTTPResponse
    ) -> String? {
        if upload.url == nil, !upload.isComplete { return "the response to the creation names no URL" }
        if upload.offset < 0 || upload.offset > upload.length {
            return "the server claims to have \(upload.offset) of \(upload.length) bytes"
        }
        if upload.offset < before.offset {
            return "the server has lost bytes that it had confirmed: it has \(upload.offset) instead of \(before.offset)"
        }
        if step != .locate, upload.offset > max(message.bytes.upperBound, before.offset) {
            return "the server claims to have \(upload.offset) bytes, and got \(message.bytes.upperBound)"
        }
        if step == .send, upload.offset == before.offset, !upload.isComplete { return "the server stored no byte of the part" }
        if step == .finish, !upload.isComplete { return "the server has all bytes, but does not confirm the upload" }
        if upload.isComplete, upload.offset != upload.length {
            return "the server confirms the upload with \(upload.offset) of \(upload.length) bytes"
        }
        return nil
    }

    /// Rejects an insecure URL, and the response to a redirect that dropped the body.
    private func checkURL(
        of upload: RunningUpload, _ message: UploadMessage, _ response: HTTPResponse, _ attempt: some UploadAttempt
    ) throws {
        let reason: String? =
            if let url = upload.url, Self.isInsecure(url, for: upload) {
                "the upload's URL is not https"
            } else if response.request.method != message.method, !response.history.isEmpty {
                "a redirect has turned the \(message.method) into a \(response.request.method)"
            } else {
                nil
            }
        if let reason { throw Self.final(attempt.error(.redirect, reason, response: response), because: reason) }
    }

    /// True for a URL that would lead from https to http.
    private static func isInsecure(_ url: URL, for upload: RunningUpload) -> Bool {
        let isSecure = upload.request.url.scheme?.lowercased() == "https"
        return isSecure && url.scheme?.lowercased() != "https" && !upload.request.settings.allowsInsecureRedirects
    }

    /// Notes the progress of an upload that the server has more bytes of than ever.
    private func noteOffset(of upload: RunningUpload, _ attempt: some UploadAttempt) {
        let isProgress = state.withLock { state in
            defer { state.highestOffset = max(state.highestOffset, upload.offset) }
            return upload.offset > state.highestOffset
        }
        if isProgress { attempt.noteProgress() }
    }

    // MARK: the end of an upload

    private func completed(
        _ upload: RunningUpload, with response: HTTPResponse, _ attempt: some UploadAttempt
    ) async throws -> HTTPResponse {
        try await checkFile()
        state.withLock { $0.upload = upload }
        try await removeRecord()
        attempt.noteCompletion(upload.length)
        return response
    }

    /// Forgets the upload on the server, once.
    /// - Parameter response: The response that has led here; `nil` for none.
    /// - Returns: False if the upload must not start over.
    /// - Throws: An error if the upload may be complete.
    private func startOver(
        _ upload: inout RunningUpload, _ attempt: some UploadAttempt, _ reason: String, _ response: HTTPResponse? = nil
    ) async throws -> Bool {
        if state.withLock({ $0.mayBeComplete }) {
            // The next call decides to send the file again.
            try await removeRecord()
            let reason = "the response was lost, and the upload may be complete: it cannot be continued, because \(reason)"
            throw Self.final(attempt.error(.connectionLost, reason, response: response))
        }
        let isFirst = state.withLock { state in
            defer { state.hasStartedOver = true }
            return !state.hasStartedOver
        }
        guard isFirst, description.existing == nil else { return false }
        attempt.warn("the upload starts over: \(reason)")
        (upload.url, upload.offset, upload.notes, upload.maximumPartSize) = (nil, 0, [:], nil)
        try await save(upload, attempt)
        return true
    }

    /// Checks the file before its bytes are sent, and at the end.
    /// - Throws: `InvalidRequest` if the file is no longer the one that the upload began with. The record is removed, so no
    ///   later run continues the upload.
    private func checkFile() async throws {
        let path = file.path, identity = try await disk.run { FileIdentity(of: path) }
        guard identity != state.withLock({ $0.subject?.file }) else { return }
        try await removeRecord()
        throw InvalidRequest("the file has changed during the upload")
    }

    // MARK: a step

    private func send(
        _ message: UploadMessage, for step: UploadStep, of upload: RunningUpload, mayComplete: Bool, _ attempt: some UploadAttempt
    ) async throws -> HTTPResponse {
        if !message.bytes.isEmpty { try await checkFile() }
        let origin = origin(of: message, upload), request = request(message, for: step, of: upload, origin)
        do {
            return try await attempt.send(request, bytes: message.bytes, of: upload.length, origin) { [self] interim in
                if step == .create { didReceive(interim, mayComplete: mayComplete, attempt) }
            }
        } catch {
            guard mayComplete else { throw error }
            guard attempt.mayHaveSent(message.bytes, despite: error) else {
                // The record assumes that everything was sent.
                if let known = state.withLock({ $0.upload }) { try? await save(known, attempt) }
                throw error
            }
            let isUnnamed = state.withLock { state in
                state.mayBeComplete = true
                return state.upload?.url == nil
            }
            throw isUnnamed ? (error as? NessError).map { Self.final($0) } ?? error : error
        }
    }

    /// Takes the URL and the limit from an interim response to the creation. It confirms nothing else.
    private func didReceive(_ interim: HTTPResponse, mayComplete: Bool, _ attempt: some UploadAttempt) {
        guard var read = state.withLock({ $0.upload }), case .accepted = description.uploadProtocol.read(interim, to: .create, of: &read),
            let url = read.url, !Self.isInsecure(url, for: read)
        else { return }
        let upload = state.withLock { [limit = read.maximumPartSize] state in
            if state.upload?.url == nil { state.upload?.url = url }
            state.upload?.maximumPartSize = limit
            return state.upload
        }
        guard let upload, let write = recording(upload, mayBeComplete: mayComplete, attempt) else { return }
        // If the record cannot be written, the next step tries again.
        disk.async { try? write() }
    }

    private func request(
        _ message: UploadMessage, for step: UploadStep, of upload: RunningUpload, _ origin: UploadOrigin
    ) -> HTTPRequest {
        var request = upload.request
        request.method = message.method
        if message.url != request.url { request.url = message.url }
        if step != .create {
            request.headers.removeContentFields()
            request.headers.remove(Self.creationFields)
        }
        if origin == .other { request.removeSecrets() }
        request.headers.merge(message.headers)
        // The transport must not repeat a POST or a PATCH by itself.
        request.settings.isIdempotent = nil
        request.body = message.body
        if !message.bytes.isEmpty {
            let (start, end) = (message.bytes.lowerBound, message.bytes.upperBound)
            var body = HTTPBody(file: file, offset: start, length: end - start)
            body.headers.merge(request.body?.headers ?? [:])
            request.body = body
        } else if message.body == nil, ![.head, .get, .delete].contains(message.method) {
            request.body = HTTPBody(Data())
        }
        return request
    }
}
