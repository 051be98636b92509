import Foundation
import NessPromise

/// A running request that sends a file, and collects the response in memory. It can be paused and resumed.
///
/// A resumable upload continues from the bytes that the server has: after a pause, in another attempt and, with a record, in another run:
/// see `RequestBuilder.uploadRequest(forFileLocation:resuming:identifiedBy:)`. A drop leaves the upload on the server.
///
/// `@unchecked Sendable` like `RequestPromise`: the class adds no state.
public final class UploadPromise: PausablePromise<UploadResult>, @unchecked Sendable {
    convenience init(_ call: Call, by sender: any RequestSender) {
        self.init(call, by: sender) { [upload = call.options.upload] in UploadResult(message: $0, uploadURL: upload?.url) }
    }

    /// The URL that the server has given to a resumable upload. `nil` until then, and for any other upload.
    public var uploadURL: URL? { call.options.upload?.url }

    /// Drops the promise, and removes the upload and its record. After a failure it only removes them; after a success it does nothing.
    /// Callable at any time from any thread.
    /// - Returns: A promise that succeeds when the server has removed the upload, or if it has none. It fails with `NessError`: with
    ///   `invalidRequest` if the protocol cannot remove uploads, or if the upload is not resumable; with `fileSystem` if the record cannot
    ///   be opened.
    @discardableResult
    public func terminate() -> Promise<Void> {
        // The first ends the request for every branch, the second also a promise whose handler has not run yet.
        call.drop()
        drop()
        return Promise { [call] in
            if call.response != nil { return }
            guard let upload = call.options.upload else {
                throw call.error(.invalidRequest, "an upload that is not resumable leaves nothing on the server")
            }
            do { try await upload.terminate(call.request) } catch { throw call.explain(error) }
        }
    }
}

/// The result of an upload.
public struct UploadResult: Sendable {
    /// The response. If the upload was continued, it may have no body and only confirm that the server has the whole file.
    public let message: HTTPResponse
    /// The URL that the server gave to a resumable upload; `nil` for any other upload.
    public let uploadURL: URL?

    /// The response, which iONess calls `message`.
    public var response: HTTPResponse { message }

    /// The response's body.
    public var responseData: Data { message.body }
}
