/// The part of a call in the download that its callers share.
extension CallContext {
    /// Returns the context of a download's flight, with the job that the members attach to: the job of the call's last flight, or a new one.
    func startingDownload() -> CallContext {
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
        guard flight.context.job != nil, flight.context.call !== call, request.isIdempotent,
            let failure = error as? NessError, failure.kind == .validation,
            // A file that is not the expected one is so for every caller: equal downloads expect the same.
            !(failure.underlying is FileMismatch), let head = failure.response
        else { return false }
        for validator in validators { try head.judge(by: validator) }
        return true
    }
}
