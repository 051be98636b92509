import Foundation

/// A request whose response goes to a file, with the functions of the pipeline that its download needs.
struct DownloadRequest: Sendable {
    let request: HTTPRequest
    /// The request as the caller made it. Errors name this one.
    let caller: HTTPRequest
    let target: DownloadTarget
    /// Identifies the requested resource: see `PartialRecord.source`.
    let source: String
    /// True if the transport can leave a body compressed.
    let keepsContentCoding: Bool
    /// Returns the time since a fixed moment.
    let elapsed: @Sendable () -> Duration
    /// Sends a request whose response a sink may take.
    let send: @Sendable (HTTPRequest, any BodySink) async throws -> HTTPResponse
    /// Reports that the file is there already, with its length in bytes.
    let reportSaved: @Sendable (Int64) -> Void

    /// True if a later run can continue the download. Ranges are defined for GET alone (RFC 9110, 14.2). A request that must not be
    /// repeated is sent once, as a whole.
    var isResumable: Bool { request.method == .get && request.body == nil && request.isIdempotent }

    var partialPath: String { target.partialPath(source) }

    var identity: DownloadIdentity {
        DownloadIdentity(source: source, method: request.method, body: request.body == nil ? [] : request.body?.identity)
    }

    /// Makes an error of the download. `CallContext.explain(_:of:)` adds the number of attempts.
    func error(_ kind: NessError.Kind, _ reason: String, response: HTTPResponse? = nil, underlying: (any Error)? = nil) -> NessError {
        NessError(kind, NessError.Context(request: caller, response: response, reason: reason, underlying: underlying))
    }

    /// Rejects a request that contradicts the download's target.
    func checkRequest() throws {
        var names = [HeaderName.range, HeaderName.ifRange]
        if target.coding != .asStored { names.append(HeaderName.acceptEncoding) }
        if target.isConditional { names += [HeaderName.ifNoneMatch, HeaderName.ifModifiedSince] }
        for name in names where request.headers.contains(name) {
            throw error(.invalidRequest, "the header \(name) is set by the download itself")
        }
        if let fault = target.expectation?.fault { throw error(.invalidRequest, fault) }
        guard target.coding != .asStored || keepsContentCoding else {
            throw error(.invalidRequest, "the transport decompresses every body, so a compressed file can't be saved")
        }
    }

    /// Checks the destination before the request is sent.
    /// - Returns: A 304, like the response to a condition, if the expected file is there already; `nil` to fetch the file.
    func existingFile() async throws -> HTTPResponse? {
        try target.checkDestination()
        // A request with another method is always sent, for its effect.
        guard request.method == .get, let saved = await target.savedAsExpected() else { return nil }
        try Task.checkCancellation()
        reportSaved(saved.length)
        var response = HTTPResponse(statusCode: 304, request: request, source: .cache)
        response.file = saved.file
        return response
    }

    /// Reads the version of the saved file, if the file is to be requested only if it has changed.
    func savedVersion() -> FileVersion? {
        guard target.isConditional, isResumable, case .file(let file) = target.destination else { return nil }
        return FileVersion.read(beside: file, source: source)
    }
}

/// Identifies a download. Of two downloads to one file with the same identity, the second waits for the first.
struct DownloadIdentity: Hashable, Sendable {
    /// Identifies the requested resource, as `PartialRecord.source`.
    let source: String
    let method: HTTPMethod
    /// The parts of the body. `nil` for a body that cannot be compared. Such bodies count as equal: a wait costs less than a failure.
    let body: [Data]?
}
