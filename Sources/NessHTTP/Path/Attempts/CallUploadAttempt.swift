import Foundation

/// The attempt of a call as `UploadJob` sees it.
struct CallUploadAttempt: UploadAttempt {
    let request: HTTPRequest
    let context: CallContext
    let receivesInterimResponses: Bool
    /// Sends a request with its credential.
    let next: @Sendable (HTTPRequest, CallContext) async throws -> HTTPResponse

    var userIdentifier: String? { context.authentication(for: request)?.userIdentifier }

    func send(
        _ request: HTTPRequest, bytes: Range<Int64>, of length: Int64, _ origin: UploadOrigin,
        interim: @escaping @Sendable (HTTPResponse) -> Void
    ) async throws -> HTTPResponse {
        context.call.beginPart(UploadPart(bytes: bytes, length: length, interim: interim))
        defer { context.call.endPart() }
        var request = request
        let environment = context.options.environment
        // As a redirect does: the secret default fields stay inside the base URL.
        if origin != .trusted, environment.contains(self.request) {
            environment.removeStrayed(environment.defaultHeaders, from: &request)
        }
        return try await next(request, context.forStep(at: origin, of: self.request))
    }

    func mayHaveSent(_ bytes: Range<Int64>, despite error: any Error) -> Bool {
        let call = context.call
        let hasSentAll = bytes.isEmpty || call.uploadProgress.completedBytes >= bytes.upperBound
        return hasSentAll && ((error as? NessError)?.mayHaveReachedServer ?? call.mayHaveActed)
    }

    func noteCompletion(_ length: Int64) {
        context.call.noteCompletion(of: length)
    }

    func noteProgress() { context.call.noteProgress(inAttempt: context.attempt) }

    func warn(_ reason: String) { context.call.observation?.notify { [request] in $0.requestDidWarn(reason, about: request) } }

    func error(_ kind: NessError.Kind, _ reason: String, response: HTTPResponse?) -> NessError {
        context.error(kind, reason, response: response)
    }
}

/// The part of a resumable upload that is being sent.
struct UploadPart: Sendable {
    /// The positions of its bytes in the file.
    let bytes: Range<Int64>
    /// The length of the file.
    let length: Int64
    /// Takes the interim responses to its request.
    let interim: @Sendable (HTTPResponse) -> Void
}
