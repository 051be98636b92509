/// A flight that runs the job of a download.
extension Pipeline {
    /// Runs a job, which fetches the file with as many requests as it needs. Each of them is redirected separately.
    @inline(never)
    func download(by job: DownloadJob, to target: DownloadTarget, _ flight: Flight) async throws -> HTTPResponse {
        let (request, context) = (flight.request, flight.context)
        // Code of the application may ignore a cancellation, and the job has to leave its file to the next run.
        let isAbandonable = runsApplicationCode(request, context) || request.redirects.asksApplication
        let download = DownloadRequest(
            request: request, target: target, source: PartialRecord.source(of: request, identifiedBy: target.identifier),
            keepsContentCoding: (context.transport ?? wire.transport).keepsContentCoding, elapsed: clock.elapsed,
            send: { [self] request, sink in
                guard isAbandonable else { return try await redirects(request, flight, sink) }
                return try await AbandonableWork.run(stoppedBy: { _ in }) { [self] in try await redirects(request, flight, sink) }
            },
            reportSaved: { flight.report(.received($0, of: $0)) }, makeError: { context.error($0, $1, response: $2, underlying: $3) })
        // Runs as registered work: a reset waits until the partial file is ready for another run.
        return try await running.work(context.options.epoch) { try await job.run(download) }
    }
}

extension CallContext {
    /// Returns the context of a flight that the call starts, with the job that the members attach to: the job of the call's last flight, or
    /// a new one.
    func startingFlight() -> CallContext {
        guard options.isContinuable else { return self }
        let (job, isInterrupted) = call.state.withLock { ($0.active?.job, $0.active?.isInterrupted == true) }
        // Only a pause has kept the job's response from the call.
        if !isInterrupted { job?.forgetResponse() }
        var context = self
        context.job = job ?? DownloadJob()
        return context
    }

    /// Judges the head of a download that another caller's validators have rejected, before a byte got to the file. Validators are the
    /// caller's own.
    /// - Returns: True if this caller accepts the head, and so starts a flight itself; false for any other error.
    /// - Throws: The error of this caller's validators.
    func accepts(headRejectedBy error: any Error, of flight: Flight, for request: HTTPRequest) throws -> Bool {
        guard flight.context.job != nil, flight.context.call !== call, request.isIdempotent, case NessError.validation(let failure) = error,
            // A file that is not the expected one is so for every caller: equal downloads expect the same.
            !(failure.underlying is FileMismatch), let head = failure.response
        else { return false }
        for validator in validators { try head.judge(by: validator) }
        return true
    }
}
