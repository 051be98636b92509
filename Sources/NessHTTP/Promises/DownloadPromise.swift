import Foundation

/// A download into a file. It can be paused and resumed. A retry or a later run of the program also resumes it.
///
/// Until the file is complete, the received bytes are in a partial file beside the destination. The partial file stays if the promise is
/// dropped. A new download of the same URL to the same destination resumes it, if the server gave the file a version (a strong ETag, or a
/// Last-Modified).
public final class DownloadPromise: PausablePromise<DownloadResult>, @unchecked Sendable {
    // `@unchecked` for the same reason as in `RequestPromise`: this class adds no state.
    convenience init(_ call: Call, by sender: any RequestSender) {
        self.init(call, by: sender) { response in try DownloadResult(message: response) }
    }
}

/// A download that fetches the file only if it has changed: see `RequestBuilder.downloadRequestIfChanged(forSavedLocation:)`.
public final class ConditionalDownloadPromise: PausablePromise<ConditionalDownload>, @unchecked Sendable {
    // `@unchecked` for the same reason as in `RequestPromise`: this class adds no state.
    convenience init(_ call: Call, by sender: any RequestSender) {
        self.init(call, by: sender) { response in
            let result = try DownloadResult(message: response)
            return response.statusCode == 304 ? .unchanged(result) : .fetched(result)
        }
    }
}

/// The outcome of a conditional download.
public enum ConditionalDownload: Sendable {
    /// The file was downloaded, because it did not exist or has changed.
    case fetched(DownloadResult)
    /// The saved file is current: the server confirmed it, or the file has the expected digest. The message has the status 304.
    case unchanged(DownloadResult)

    /// The response, and the URL of the file.
    package var result: DownloadResult {
        switch self {
        case .fetched(let result), .unchanged(let result): result
        }
    }
}

/// The value of a finished download.
public struct DownloadResult: Sendable {
    /// The response without its body, which is in the file. A resumed download has the status and the length of the whole file.
    public let message: HTTPResponse
    /// The URL of the file.
    public let dataLocalURL: URL

    /// The response, which iONess calls `message`.
    public var response: HTTPResponse { message }

    init(message: HTTPResponse) throws {
        guard let file = message.file else {
            let reason = "the response was not saved: status \(message.statusCode)"
            throw NessError(.validation, NessError.Context(request: message.request, response: message, reason: reason))
        }
        self.message = message
        dataLocalURL = file
    }
}
