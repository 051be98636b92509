import Foundation

/// Writes a download's body to a partial file, resumes an earlier attempt, and gives the complete file its final name (RFC 9110, 14).
///
/// It is below coalescing, so that equal downloads share one file, and above redirects, so that each range is redirected separately.
struct Download: OptionalStage {
    let clock: PipelineClock
    let running: RunningRequests
    let transport: any Transport
    let destinations = DownloadDestinations()

    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool { context.call.choices.download != nil }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let context = next.context
        guard let target = context.call.choices.download else { return try await next(request) }
        try check(request, target, in: context)
        // Ranges are defined for GET alone (RFC 9110, 14.2). What must not be repeated is sent once, as a whole.
        let isResumable = request.method == .get && request.body == nil && request.isIdempotent
        let hash = PartialRecord.source(of: request)
        let source = isResumable ? hash : nil
        let path = target.partialPath(hash)
        // Runs as registered work: a reset waits until the partial file is ready for another run.
        return try await running.work(context.call.choices.epoch) {
            try await destinations.withExclusiveAccess(path, fetching: source, for: target.life) {
                // Only for the first attempt: a retry follows a rejected response.
                if let finished = target.life.take(), context.attempt == 1 { return finished }
                try target.check()
                let file = try await target.openPartialFile(path: path, source: source, elapsed: clock.elapsed)
                let version = version(of: target, source)
                let response = try await DownloadRun(request, target, file, version, hash, isResumable: isResumable, next).run()
                if response.file != nil { target.life.keep(response) }
                return response
            }
        }
    }
}

extension Download {
    /// Rejects a request that contradicts the download's target.
    private func check(_ request: HTTPRequest, _ target: DownloadTarget, in context: CallContext) throws {
        var names = [HeaderName.range, HeaderName.ifRange]
        if target.coding != .asStored { names.append(HeaderName.acceptEncoding) }
        if target.isConditional { names += [HeaderName.ifNoneMatch, HeaderName.ifModifiedSince] }
        for name in names where request.headers.contains(name) {
            throw context.call.error(.invalidRequest, "the header \(name) is the download's to set")
        }
        if let fault = target.expectation?.fault { throw context.call.error(.invalidRequest, fault) }
        let transport = request[OwnTransport.self] ?? transport
        guard target.coding != .asStored || transport.keepsContentCoding else {
            throw context.call.error(.invalidRequest, "the transport unpacks every body, so no file can be saved as it is stored")
        }
    }

    /// The version of the saved file, if the file is to be requested only if it has changed.
    private func version(of target: DownloadTarget, _ source: String?) -> FileVersion? {
        guard target.isConditional, let source, case .file(let file) = target.place else { return nil }
        return FileVersion.read(beside: file, source: source)
    }
}
