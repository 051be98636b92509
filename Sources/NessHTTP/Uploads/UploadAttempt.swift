/// The attempt of a call at a resumable upload.
protocol UploadAttempt: Sendable {
    /// The request as the caller made it, with the manager's default headers, without a body.
    var request: HTTPRequest { get }
    /// The stable name of the user on whose behalf the request is sent; `nil` for none.
    var userIdentifier: String? { get }
    /// True if the transport reports interim responses.
    var receivesInterimResponses: Bool { get }
    /// Sends the request of a step.
    /// - Parameters:
    ///   - request: The request.
    ///   - bytes: The positions of the file's bytes that it carries, for the progress.
    ///   - length: The length of the file.
    ///   - origin: The origin of its URL.
    ///   - interim: Takes interim responses.
    func send(
        _ request: HTTPRequest, bytes: Range<Int64>, of length: Int64, _ origin: UploadOrigin,
        interim: @escaping @Sendable (HTTPResponse) -> Void
    ) async throws -> HTTPResponse
    /// Returns true if a server may have got the whole request of a step with some bytes of the file, although the step failed.
    func mayHaveSent(_ bytes: Range<Int64>, despite error: any Error) -> Bool
    /// Notes the end of the upload, for the progress.
    func noteCompletion(_ length: Int64)
    /// Notes that the server has got more bytes since the attempts before this one: they do not count for the retry policy.
    func noteProgress()
    /// Reports something unusual to the observers.
    func warn(_ reason: String)
    /// Makes an error of the upload.
    func error(_ kind: NessError.Kind, _ reason: String, response: HTTPResponse?) -> NessError
}

/// The origin of the URL of a step, compared with that of the caller's request.
enum UploadOrigin: Sendable {
    case same
    /// Another origin, which gets no secret of the caller.
    case other
    /// Another origin, which the caller trusts.
    case trusted
}
