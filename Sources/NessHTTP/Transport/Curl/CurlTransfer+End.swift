#if os(Linux)
import CNessCurl

/// The end of a transfer, or another start of it.
extension CurlTransfer {
    /// Returns true if the transfer is repeated on a separate connection.
    /// - Parameter code: The CURLcode with which libcurl ended it.
    func restarts(after code: Int32) -> Bool {
        // CURLE_SEND_ERROR. A body may have been rejected on purpose. After the head it concerns the window of HTTP/2.
        if code == 55, request.body == nil, !head.isComplete { history.noteSendError() }
        return failure == nil && history.takeRestart(hasHead: head.isComplete)
    }

    /// Prepares the transfer to be repeated. Call this while libcurl does not have the handle.
    func prepareRestart() throws {
        leaveConnection()
        (reader, isWaitingForBody) = (nil, false)
        readCount = 0
        head = ResponseHeadParser()
        addressCheck?.begin()
        handle.isAltered = true
        try handle.setHeaders(try CurlHeaderLines.make(request, expectsContinue: history.expectsContinue))
        try handle.set(.freshConnection, 1)
    }

    /// Makes the error of a transfer that libcurl ended.
    func error(_ code: Int32) -> TransportError {
        if let rejection = addressCheck?.rejection, history.isUnsent { return rejection }
        guard history.wasRefused else {
            return CurlError.map(code, handle.errorText, isSent: history.isSent, wasSentBefore: history.wasSentBefore)
        }
        var error = TransportError(.connectionLost, "the connection was lost before a response")
        if history.isUnsent { error.repetition = .always }
        if head.isComplete {
            error = TransportError(.truncated, "the server rejected the request while the body was being sent")
            error.repetition = .never("the server rejects the request")
        }
        return error
    }

    /// Sets the outcome. libcurl has ended the transfer; the decoder may still hold bytes of the body.
    func end(_ code: Int32) {
        if code == 0, exchange.isSecure, head.isHTTP1, let descriptor = ends.flatMap(loop.connections.descriptor) {
            loop.connections.noteEndOverTLS(descriptor)
        }
        do {
            if let failure { throw failure }
            if history.wasRefused || code != 0 { throw error(code) }
            guard head.isComplete else {
                throw TransportError(.connectionLost, "the connection was closed inside the response's header")
            }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
            reportConnection()
        }
    }

    /// True if the transfer has ended and the mailbox has had room for all of its events.
    var isDelivered: Bool { outcome != nil && (failure != nil || decoder?.hasRest != true) }

    /// Ends the exchange.
    func finish() {
        do {
            if case .success? = outcome {
                try decoder?.finish()
                if !head.trailers.isEmpty { batch.add(.trailers(head.trailers)) }
            }
        } catch {
            outcome = .failure(error)
        }
        exchange.mailbox.put(batch, end: outcome)
        batch = EventBatch()
    }

    /// Gives the handle back for another transfer, if this one was successful.
    func giveBackHandle() { if case .success? = outcome { template.takeBack(handle, of: exchange.shape) } }

    /// Shuts a retired connection down when its last transfer leaves it, so that libcurl does not choose it again.
    func endRetiredConnection() {
        if let ends, let connection, loop.use.isRetired(connection, after: self) { loop.connections.shutDown(ends) }
    }

    /// Sets the outcome of a transfer that cannot get a connection.
    func fail(_ reason: String) {
        // An earlier connection may have carried the request.
        var error = TransportError(history.isUnsent ? .cannotConnect : .connectionLost, reason)
        if history.isUnsent { error.repetition = .always }
        outcome = .failure(error)
    }

    /// Releases the request's body and the connection. No callback of libcurl runs afterwards.
    func release() {
        reader = nil
        leaveConnection()
    }
}
#endif
