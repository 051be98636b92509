/// The part of a call in the download that its callers share.
extension CallContext {
    /// Returns the context of a download's flight, with the job that the members attach to: the job of the call's last flight, or a new one.
    func startingDownload() -> CallContext {
        let (job, isInterrupted) = call.state.withLock { ($0.active?.job, $0.active?.isInterrupted == true) }
        // Only a pause can have kept the job's response from this call. Without a pause, the call has seen it.
        if !isInterrupted { job?.forgetResponse() }
        var context = self
        context.job = job ?? DownloadJob()
        return context
    }

    /// Judges the head of a shared download that the validators of another caller rejected before a byte was saved. Each caller has its own
    /// validators.
    /// - Returns: True if this caller accepts the head, and so starts a flight itself; false for any other error.
    /// - Throws: The error of this caller's validators.
    func accepts(headRejectedBy error: any Error, of flight: Flight, for request: HTTPRequest) throws -> Bool {
        guard flight.context.job != nil, flight.context.call !== call, request.isIdempotent,
            let failure = error as? NessError, failure.kind == .validation,
            // A mismatch of the file concerns every caller, because equal downloads expect the same file.
            !(failure.underlying is FileMismatch), let head = failure.response
        else { return false }
        for validator in validators { try head.judge(by: validator) }
        return true
    }
}
