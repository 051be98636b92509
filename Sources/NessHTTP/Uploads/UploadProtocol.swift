import Foundation

/// A way in which a server continues an interrupted upload: tus, the draft of the IETF, or that of one storage service.
///
/// A protocol has no state. It makes the request of each step, and reads the response. Ness does the rest: it sends the requests with the
/// credential, the retries and the limits of the upload, attaches the bytes of the file, pauses, keeps the record, and rejects offsets that
/// cannot be right.
///
/// **Threads.** Ness calls both methods off the main thread, one step at a time. `message` may suspend, for example to compute a digest.
/// `read` must not block: Ness also calls it for an interim response, on a thread of the transport, while the body is still being sent.
///
/// **Cancellation.** A drop or a pause cancels the task of `message`, which then throws `CancellationError`.
///
/// **Testing.** Give the protocol to a manager with a `MockTransport` of the module `NessTesting`.
///
/// | step | purpose | when |
/// |---|---|---|
/// | `create` | a URL for the upload | the upload has no URL |
/// | `locate` | the number of bytes that the server has | after a lost connection, a pause, or in a later run of the program |
/// | `send` | the next part of the file | bytes are missing |
/// | `finish` | the end of the upload | the server has all bytes, but has not confirmed the end |
/// | `terminate` | the removal of the upload | the caller gives it up: `UploadPromise.terminate()` |
///
/// ```swift
/// struct PlainRanges: UploadProtocol {
///     let name = "plain-ranges"
///
///     func message(
///         for step: UploadStep, of upload: RunningUpload
///     ) -> UploadMessage? {
///         switch step {
///         case .create: UploadMessage(.post, upload.request.url)
///         case .locate: upload.url.map { UploadMessage(.head, $0) }
///         case .send:
///             upload.url.map {
///                 UploadMessage(
///                     .put, $0, ["X-Offset": "\(upload.offset)"],
///                     bytes: upload.nextPart)
///             }
///         case .finish: nil
///         case .terminate: upload.url.map { UploadMessage(.delete, $0) }
///         }
///     }
///
///     func read(
///         _ response: HTTPResponse, to step: UploadStep,
///         of upload: inout RunningUpload
///     ) -> UploadVerdict {
///         let verdict = UploadVerdict(response)
///         guard case .accepted = verdict else { return verdict }
///         if step == .create { upload.url = response.location }
///         if step == .locate || step == .send {
///             guard let offset = response.headers["X-Offset"]
///                 .flatMap({ Int64($0) })
///             else { return .invalid("the response names no offset") }
///             upload.offset = offset
///         }
///         return .accepted
///     }
/// }
/// ```
public protocol UploadProtocol: Sendable {
    /// The name of the protocol and of its options. A record continues only with the protocol that it names.
    var name: String { get }

    /// Returns the request of a step.
    /// - Parameters:
    ///   - step: The step.
    ///   - upload: The upload.
    /// - Returns: The request; `nil` if the protocol has no such step. Without `create`, the upload fails. Without `locate`, it starts
    ///   over, once. Without `finish`, it is complete.
    /// - Throws: An error of the file or of the caller's input, which ends the upload.
    func message(for step: UploadStep, of upload: RunningUpload) async throws -> UploadMessage?

    /// Reads the response to a step, and changes the upload accordingly. An interim response (1xx) to `create` is read as well,
    /// while the request is being sent; only its `url` and `maximumPartSize` count.
    /// - Parameters:
    ///   - response: The response, with any status.
    ///   - step: The step.
    ///   - upload: The upload as it was when the request was made. Set its `url`, `offset` and `isComplete`.
    /// - Returns: The meaning of the response.
    func read(_ response: HTTPResponse, to step: UploadStep, of upload: inout RunningUpload) -> UploadVerdict
}

/// A step of a resumable upload: see `UploadProtocol`.
public enum UploadStep: String, Sendable, Hashable {
    /// Creates the upload on the server. May already carry bytes.
    case create
    /// Asks for the number of bytes that the server has.
    case locate
    /// Sends a part of the file.
    case send
    /// Ends the upload, once the server has all bytes.
    case finish
    /// Removes the upload from the server.
    case terminate
}

/// The request of a step. Ness adds the caller's header fields. It sends fields that describe the body or apply only to the creation
/// (conditions, `Range`, `Idempotency-Key`) with `create` alone.
public struct UploadMessage: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// The absolute URL.
    public var url: URL
    /// The header fields of the step. They replace the caller's of the same names.
    public var headers: HTTPHeaders
    /// The positions of the file's bytes to send; empty for none.
    public var bytes: Range<Int64>
    /// The body, for a step without bytes of the file; `nil` for an empty one.
    public var body: HTTPBody?

    /// Makes the request of a step.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The absolute URL.
    ///   - headers: The header fields of the step.
    ///   - bytes: The positions of the file's bytes to send; empty for none.
    ///   - body: The body, for a step without bytes of the file.
    public init(_ method: HTTPMethod, _ url: URL, _ headers: HTTPHeaders = [:], bytes: Range<Int64> = 0..<0, body: HTTPBody? = nil) {
        (self.method, self.url, self.headers, self.bytes, self.body) = (method, url, headers, bytes, body)
    }
}

/// The meaning of a response to a step.
public enum UploadVerdict: Sendable, Hashable {
    /// The server has done the step.
    case accepted
    /// The server has another number of bytes than the request assumed, has discarded a damaged part, or has named a limit
    /// (`RunningUpload.maximumPartSize`). Ness locates the upload and continues: once without progress, or up to three times while the
    /// limit becomes smaller. After that, the response is the outcome.
    case conflict
    /// The server does not know the upload. Ness creates another one, once.
    case gone
    /// The response is the outcome, and usually an error. The retry policy decides about another attempt.
    case rejected
    /// The response is the outcome, an error that no other attempt changes.
    case failed
    /// The response breaks the protocol. The upload fails with `NessError.Kind.malformedResponse` and this reason.
    case invalid(String)

    /// Makes the usual meaning of a status: 1xx and 2xx are accepted, 409 and 460 (Checksum Mismatch) a conflict, 404 and 410 gone. Any
    /// other is rejected.
    /// - Parameter response: The response.
    public init(_ response: HTTPResponse) {
        switch response.statusCode {
        case 100..<300: self = .accepted
        case 409, 460: self = .conflict
        case 404, 410: self = .gone
        default: self = .rejected
        }
    }
}
