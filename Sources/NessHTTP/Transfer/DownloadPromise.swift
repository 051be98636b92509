import Foundation

/// A download into a file. It can be paused, and goes on where it was: after a pause, for a retry, and in another run of the program.
///
/// What has come lies in a partial file beside the destination until it is whole. Dropping the promise leaves that file there, for a new
/// download of the same URL to the same place to continue, if the server gave the file a version (a strong ETag, or a Last-Modified).
public final class DownloadPromise: PausablePromise<DownloadResult>, @unchecked Sendable {
    // `@unchecked` as `RequestPromise` is: this class adds nothing.
    init(
        _ sending: PreparedCall, running: RunningRequests, life: DownloadLife,
        load: @escaping @Sendable (Call) async throws -> HTTPResponse
    ) {
        super.init(sending, running: running, life: life, load: load) { response in try DownloadResult(message: response) }
    }
}

/// A download into a file that is fetched only if it has changed since: see `RequestBuilder.downloadRequestIfChanged(forSavedLocation:)`.
public final class ConditionalDownloadPromise: PausablePromise<ConditionalDownload>, @unchecked Sendable {
    // `@unchecked` as `RequestPromise` is: this class adds nothing.
    init(
        _ sending: PreparedCall, running: RunningRequests, life: DownloadLife,
        load: @escaping @Sendable (Call) async throws -> HTTPResponse
    ) {
        super.init(sending, running: running, life: life, load: load) { response in
            let result = try DownloadResult(message: response)
            return response.statusCode == 304 ? .unchanged(result) : .fetched(result)
        }
    }
}

/// The outcome of a download that is fetched only if it has changed.
public enum ConditionalDownload: Sendable {
    /// The file is new, or was fetched anew.
    case fetched(DownloadResult)
    /// The file that is there is still the server's. The message has the status 304.
    case unchanged(DownloadResult)

    /// The file's place, and the response.
    public var result: DownloadResult {
        switch self {
        case .fetched(let result), .unchanged(let result): result
        }
    }
}

/// What a download promises.
public struct DownloadResult: Sendable {
    /// The response, without its body: that is in the file. A download that was continued has the status and the length of the whole.
    public let message: HTTPResponse
    /// Where the file is.
    public let dataLocalURL: URL

    init(message: HTTPResponse) throws {
        guard let file = message.file else {
            throw NessError.validation(
                NessError.Context(
                    request: message.request, response: message, reason: "the response was not saved: the status is \(message.statusCode)"))
        }
        self.message = message
        dataLocalURL = file
    }
}
