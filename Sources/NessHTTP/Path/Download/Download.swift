import Foundation

/// Writes a download's body to a partial file, resumes an earlier attempt, and gives the complete file its final name (RFC 9110, 14).
///
/// Equal downloads share one flight, and with it one file. Each range is redirected separately.
extension Pipeline {
    @inline(never)
    func download(_ request: HTTPRequest, _ flight: Flight) async throws -> HTTPResponse {
        let context = flight.context
        guard let target = context.options.download, let carried = flight.carryOver, let finished = flight.finished else {
            return try await redirects(request, flight, context.options.sink)
        }
        try check(request, target, in: context)
        // Ranges are defined for GET alone (RFC 9110, 14.2). What must not be repeated is sent once, as a whole.
        let isResumable = request.method == .get && request.body == nil && request.isIdempotent
        let hash = PartialRecord.source(of: request, identifiedBy: target.identifier)
        let source = isResumable ? hash : nil
        let identity = DownloadIdentity(request, source: hash)
        let path = target.partialPath(hash)
        // Runs as registered work: a reset waits until the partial file is ready for another run.
        return try await running.work(context.options.epoch) {
            try await PartialFileClaims.shared.withExclusiveAccess(path, fetching: identity, for: carried) {
                if let response = finished.response(of: identity) { return response }
                try target.check()
                // Another method is sent for its effect.
                if request.method == .get, let saved = await target.savedAsExpected() {
                    try Task.checkCancellation()
                    flight.reportSavedFile(of: saved.length)
                    return HTTPResponse(unchanged: saved.file, request: request)
                }
                let file = try await target.openPartialFile(
                    path: path, source: source, carrying: carried, elapsed: clock.elapsed)
                let version = version(of: target, source)
                flight.reportProgress(of: file)
                let run = DownloadRun(request, target, file, version, hash, isResumable: isResumable, in: context) { [self] in
                    try await redirects($0, flight, $1)
                }
                let response = try await run.run()
                if response.file != nil {
                    carried.removeFolder()
                    finished.keep(response, of: identity)
                }
                return response
            }
        }
    }

    /// Rejects a request that contradicts the download's target.
    private func check(_ request: HTTPRequest, _ target: DownloadTarget, in context: CallContext) throws {
        var names = [HeaderName.range, HeaderName.ifRange]
        if target.coding != .asStored { names.append(HeaderName.acceptEncoding) }
        if target.isConditional { names += [HeaderName.ifNoneMatch, HeaderName.ifModifiedSince] }
        for name in names where request.headers.contains(name) {
            throw context.error(.invalidRequest, "the header \(name) is set by the download itself")
        }
        if let fault = target.expectation?.fault { throw context.error(.invalidRequest, fault) }
        let transport = context.transport ?? wire.transport
        guard target.coding != .asStored || transport.keepsContentCoding else {
            throw context.error(.invalidRequest, "the transport decompresses every body, so a compressed file can't be saved")
        }
    }

    /// The version of the saved file, if the file is to be requested only if it has changed.
    private func version(of target: DownloadTarget, _ source: String?) -> FileVersion? {
        guard target.isConditional, let source, case .file(let file) = target.destination else { return nil }
        return FileVersion.read(beside: file, source: source)
    }
}

extension HTTPResponse {
    /// Makes the response of a download whose file was there already: 304, like the response to a condition.
    fileprivate init(unchanged file: URL, request: HTTPRequest) {
        self.init(statusCode: 304, headers: [:], body: Data(), request: request, source: .cache)
        self.file = file
    }
}
