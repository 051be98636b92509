import NessLock

/// The response of a finished download, for a caller who paused before the response arrived.
///
/// Without it, a pause between the rename of the file and the result would fetch the file again, and a folder would get it twice. A paused
/// caller also gets the file that the callers who did not pause have received meanwhile.
///
/// It belongs to one flight, and to those that continue what a pause interrupted. A retry, or a loader that sends a request again, has
/// another one, because it follows a response that the caller has seen.
final class FinishedDownload: Sendable {
    private struct Kept: Sendable {
        let response: HTTPResponse
        let identity: DownloadIdentity
        let file: FileIdentity
    }

    private let kept = Lock<Kept?>(nil)

    /// Keeps a response with its file.
    func keep(_ response: HTTPResponse, of identity: DownloadIdentity) {
        guard let path = response.file?.path, let file = FileIdentity(of: path) else { return }
        kept.withLock { $0 = Kept(response: response, identity: identity, file: file) }
    }

    /// Returns the response, unless it is of another request, or its file has changed since.
    func response(of identity: DownloadIdentity) -> HTTPResponse? {
        guard let kept = kept.withLock({ $0 }), kept.identity == identity, let path = kept.response.file?.path,
            FileIdentity(of: path) == kept.file
        else { return nil }
        return kept.response
    }
}
