/// The flight of a download: its job fetches the file with as many requests as it needs, and each is redirected separately.
extension Pipeline {
    @inline(never)
    func download(by job: DownloadJob, to target: DownloadTarget, _ flight: Flight) async throws -> HTTPResponse {
        let (request, context) = (flight.request, flight.context)
        let download = DownloadRequest(
            request: request, target: target, source: PartialRecord.source(of: request, identifiedBy: target.identifier),
            keepsContentCoding: (context.transport ?? wire.transport).keepsContentCoding, elapsed: clock.elapsed,
            send: { [self] in try await redirects($0, flight, $1) }, reportSaved: { flight.report(.received($0, of: $0)) },
            makeError: { context.error($0, $1, response: $2, underlying: $3) })
        // Runs as registered work: a reset waits until the partial file is ready for another run.
        return try await running.work(context.options.epoch) { try await job.run(download) }
    }
}
