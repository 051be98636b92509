import Foundation
import NessLock

/// A resumable upload of one call. It holds the state that all attempts of the call share, and the record for a later run.
///
/// Each attempt calls `run(_:)`, which continues where the server is. An attempt that fails leaves the upload to the next one.
final class UploadJob: Sendable {
    struct State: Sendable {
        /// The upload; `nil` before the first attempt.
        var upload: RunningUpload?
        var subject: UploadRecord.Subject?
        var record: UploadRecordFile?
        var isRunning = false
        var hasEnded = false
        /// True if another upload was created, because the server had lost one.
        var hasStartedOver = false
        /// True if a request may have completed the upload, although its response was lost.
        var mayBeComplete = false
        /// The most bytes that the server has confirmed so far; -1 before the creation.
        var highestOffset: Int64 = -1
    }

    let description: ResumableUpload
    let file: URL
    /// Identifies the upload in place of the URL of its creation; `nil` for none.
    private let identifier: String?
    /// True if the caller allows the whole upload to be sent twice.
    let isRepeatable: Bool
    /// Sends the request that removes the upload, in a separate call.
    private let sendTermination: @Sendable (UploadMessage, UploadOrigin) async throws -> HTTPResponse
    let state = Lock(State())
    /// Reads and writes files, which may take long.
    let disk = DispatchQueue(label: "ness.upload")
    /// Opens the records of all jobs, one at a time: a job that has ended meanwhile closes its record before the next one opens it.
    private static let opening = DispatchQueue(label: "ness.upload-records")

    /// Makes the job of a call.
    /// - Parameters:
    ///   - description: The protocol and its options.
    ///   - file: The file.
    ///   - identifier: Identifies the upload in place of the URL of its creation; `nil` for none.
    ///   - isRepeatable: True if the caller allows the whole upload to be sent twice.
    ///   - sendTermination: Sends the request that removes the upload.
    init(
        _ description: ResumableUpload, file: URL, identifiedBy identifier: String?, isRepeatable: Bool,
        sendTermination: @escaping @Sendable (UploadMessage, UploadOrigin) async throws -> HTTPResponse
    ) {
        (self.description, self.identifier, self.isRepeatable) = (description, identifier, isRepeatable)
        self.sendTermination = sendTermination
        self.file = file.resolvingSymlinksInPath()
    }

    /// The URL of the upload; `nil` until the server has named it.
    var url: URL? { state.withLock { $0.upload?.url } }

    // MARK: an attempt

    /// Continues the upload, or starts it.
    /// - Returns: The response that ended it: usually the one that confirmed the end; otherwise one that the retry policy judges.
    func run(_ attempt: some UploadAttempt) async throws -> HTTPResponse {
        let isFirst = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isFirst else { throw attempt.error(.duplicate, "an upload cannot be sent twice at the same time", response: nil) }
        defer { state.withLock { $0.isRunning = false } }
        var upload = try await begin(attempt)
        return try await takeSteps(of: &upload, attempt)
    }

    /// Returns the upload of the earlier attempts, that of the record, or a new one.
    private func begin(_ attempt: some UploadAttempt) async throws -> RunningUpload {
        if state.withLock({ $0.mayBeComplete && $0.upload?.url == nil }) {
            let reason = "the upload was interrupted before the server named its URL"
            throw Self.final(attempt.error(.connectionLost, reason, response: nil))
        }
        if var upload = state.withLock({ $0.upload }) {
            upload.request = attempt.request
            return upload
        }
        if let size = description.partSize, size <= 0 { throw InvalidRequest("the size of a part must be positive") }
        let subject = try await disk.run { [self] in
            do {
                return try UploadRecord.Subject(
                    name: description.uploadProtocol.name, attempt.request, identifiedBy: identifier, user: attempt.userIdentifier,
                    file: file.path)
            } catch {
                throw InvalidRequest("the file cannot be read: \(error)")
            }
        }
        var upload = RunningUpload(
            attempt.request, file: file.path, length: subject.length, partSize: description.partSize,
            receivesInterimResponses: attempt.receivesInterimResponses)
        upload.url = description.existing
        var mayBeComplete = false
        if let found = try await openRecord() {
            let isOther = description.existing.map { $0.absoluteString != found.url } ?? false
            if found.subject == subject, !isOther, let url = URL(string: found.url) {
                (upload.url, upload.notes, mayBeComplete) = (url, found.notes, found.mayBeComplete && !isRepeatable)
            } else {
                let difference = isOther ? "another upload" : found.subject.difference(from: subject)
                attempt.warn("the upload starts over: its record belongs to \(difference)")
            }
        }
        state.withLock { [upload, mayBeComplete] in
            ($0.upload, $0.subject, $0.mayBeComplete) = (upload, subject, mayBeComplete)
        }
        return upload
    }

    /// Returns an error after which the upload is not sent again.
    /// - Parameter reason: The reason why not.
    static func final(_ error: NessError, because reason: String = "the server may have the whole upload") -> NessError {
        var error = error
        error.context.repetition = .never(reason)
        return error
    }

    // MARK: the record

    /// Opens the record, unless the call has ended.
    /// - Returns: The record of an earlier run; `nil` without one.
    private func openRecord() async throws -> UploadRecord? {
        guard let path = description.record?.path else { return nil }
        return try await Self.opening.run { [self] in
            try checkEnd()
            let record = try UploadRecordFile(path)
            do {
                let found = try record.read()
                state.withLock { if !$0.hasEnded { $0.record = record } }
                try checkEnd()
                return found
            } catch {
                record.close()
                throw error
            }
        }
    }

    private func checkEnd() throws { if state.withLock({ $0.hasEnded }) { throw CancellationError() } }

    /// Keeps the upload for the next attempt, and for a later run of the program.
    /// - Parameter mayBeComplete: True before a request that may complete the upload.
    func save(_ upload: RunningUpload, mayBeComplete: Bool = false, _ attempt: some UploadAttempt) async throws {
        state.withLock { $0.upload = upload }
        guard let write = recording(upload, mayBeComplete: mayBeComplete, attempt) else { return }
        try await disk.run(write)
    }

    /// Returns a closure that writes the record; `nil` without one.
    func recording(
        _ upload: RunningUpload, mayBeComplete: Bool = false, _ attempt: some UploadAttempt
    ) -> (@Sendable () throws -> Void)? {
        let (record, subject) = state.withLock { ($0.record, $0.subject) }
        guard let record, let subject, let url = upload.url else { return nil }
        guard upload.request.redactor.redacted(url) == url.absoluteString else {
            if record.noteSecret() {
                attempt.warn("a later run cannot continue the upload: its URL contains a secret, so it is not recorded")
            }
            return nil
        }
        return { try record.write(UploadRecord(subject, url: url, notes: upload.notes, mayBeComplete: mayBeComplete)) }
    }

    /// Removes the record of an upload that has ended, or that no later run continues.
    func removeRecord() async throws {
        guard let record = state.withLock({ $0.record.take() }) else { return }
        try await disk.run { record.remove() }
    }

    // MARK: the end of the call

    /// Closes the record, when the call ends. Another upload may then use it.
    func callDidEnd() {
        let record = state.withLock { state in
            state.hasEnded = true
            return state.record.take()
        }
        record?.close()
    }

    /// Removes the upload from the server, and then its record. The call has ended.
    /// - Parameter request: The caller's request.
    func terminate(_ request: HTTPRequest) async throws {
        // The end of the call may not have reached the record yet.
        callDidEnd()
        var upload = state.withLock { $0.upload }
        let path = description.record?.path
        // An upload of an earlier run, if the call ended before its first step.
        if upload == nil, let path {
            upload = try await Self.opening.run { [self] in
                let record = try UploadRecordFile(path)
                defer { record.close() }
                let identity = FileIdentity(of: file.path)
                // The file may have been deleted meanwhile.
                guard let found = try record.read(), found.subject.name == description.uploadProtocol.name,
                    identity == nil || found.subject.file == identity
                else { return nil }
                var upload = RunningUpload(
                    request, file: file.path, length: found.subject.length, partSize: nil, receivesInterimResponses: false)
                (upload.url, upload.notes) = (URL(string: found.url), found.notes)
                return upload
            }
        }
        if let upload, upload.url != nil {
            guard let message = try await description.uploadProtocol.message(for: .terminate, of: upload) else {
                throw InvalidRequest("the protocol \(description.uploadProtocol.name) cannot remove an upload")
            }
            var read = upload
            let response = try await sendTermination(message, origin(of: message, upload))
            switch description.uploadProtocol.read(response, to: .terminate, of: &read) {
            case .accepted, .gone: break
            default: try response.judge(by: StatusCodeValidator.success)
            }
        }
        guard let path else { return }
        try await Self.opening.run { [isOwn = upload != nil] in
            let record = try UploadRecordFile(path)
            defer { record.close() }
            // Throws for a file that is not a record. The record of another upload stays.
            if try record.read() == nil || isOwn { record.remove() }
        }
    }

    /// Returns the origin of a step's URL.
    func origin(of message: UploadMessage, _ upload: RunningUpload) -> UploadOrigin {
        if message.url.hasSameOrigin(as: upload.request.url) { return .same }
        return description.trustsOtherOrigins ? .trusted : .other
    }
}
