import Foundation
import NessHTTP
import NessLock

/// One upload of a server: its state, and the file with its bytes. Further requests find it by its identifier.
final class StoredUpload: Sendable {
    /// The part that changes.
    struct State: Sendable {
        /// The number of bytes that count as received.
        var offset: Int64 = 0
        var length: Int64?
        var isComplete = false
        /// The status of all further responses; `nil` while the upload exists.
        var goneStatus: Int?
        /// The response that reported the completion, which a client may have lost.
        var finalReply: Reply?
        /// The request that uses the upload now.
        var user: UploadUser?
    }

    let identifier: String
    let kind: ResumableUploads.Upload.Kind
    let path: String
    let file: URL
    let creationHeaders: HTTPHeaders
    /// The time after which an incomplete upload is gone; `nil` for never.
    let expiry: Date?
    private let changed: ChangeSignal
    private let state: Lock<State>

    init(
        identifier: String, kind: ResumableUploads.Upload.Kind, path: String, file: URL, creationHeaders: HTTPHeaders, expiry: Date?,
        length: Int64?, changed: ChangeSignal
    ) {
        self.identifier = identifier
        self.kind = kind
        self.path = path
        self.file = file
        self.creationHeaders = creationHeaders
        self.expiry = expiry
        self.changed = changed
        state = Lock(State(length: length))
    }

    /// The state at this moment.
    var current: State { state.withLock { $0 } }

    /// Changes the state, and wakes the tests that wait for a change.
    @discardableResult
    func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        defer { changed.notify() }
        return state.withLock(body)
    }

    /// Makes the upload unavailable. An expired or failed upload stays so.
    /// - Parameter status: The status of all further responses.
    func vanish(_ status: Int) {
        change { if $0.goneStatus == nil { $0.goneStatus = status } }
    }

    /// The status of all further responses; `nil` while the upload exists. 410 after its expiry.
    var goneStatus: Int? {
        let state = current
        return state.goneStatus ?? (expiry.map { Date() >= $0 && !state.isComplete } == true ? 410 : nil)
    }

    /// Registers a request as the user of the upload.
    /// - Returns: The other user, which has to end first; `nil` if the request is now the user.
    func register(_ user: UploadUser) -> UploadUser? {
        state.withLock { state in
            if let other = state.user { return other }
            state.user = user
            return nil
        }
    }

    /// Releases the upload, and resumes the requests that wait for it.
    func release(_ user: UploadUser) {
        state.withLock { $0.user = nil }
        user.ended.open()
    }

    /// Returns a value that describes the upload.
    /// - Parameter requests: The requests that named or created it.
    func description(requests: [ResumableUploads.Request]) -> ResumableUploads.Upload {
        let state = current
        let metadata = kind == .tus ? UploadFields.metadata(creationHeaders["Upload-Metadata"] ?? "") : nil
        return ResumableUploads.Upload(
            identifier: identifier, kind: kind, path: path, fileURL: file, receivedByteCount: state.offset, length: state.length,
            isComplete: state.isComplete, isGone: goneStatus != nil, metadata: metadata ?? [:], creationHeaders: creationHeaders,
            requests: requests)
    }
}

/// A request that uses an upload. One request at a time may do so: a further one ends the first, as the draft recommends ("Concurrency").
final class UploadUser: Sendable {
    /// Open once another request needs the upload.
    let superseded = TestGate()
    /// Open once the request no longer uses the upload.
    let ended = TestGate()
}
