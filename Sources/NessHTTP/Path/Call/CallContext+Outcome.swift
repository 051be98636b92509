import Foundation

/// Errors and responses, as the caller of a request sees them.
extension CallContext {
    /// Makes an error of this request.
    /// - Parameters:
    ///   - kind: The kind.
    ///   - reason: The reason, in a few words.
    ///   - response: The response, or the part of it that arrived.
    ///   - underlying: The underlying error.
    func error(
        _ kind: NessError.Kind, _ reason: String, response: HTTPResponse? = nil, underlying: (any Error)? = nil
    ) -> NessError {
        NessError(
            kind,
            NessError.Context(
                request: call.fault == nil ? request : nil, response: response, attempts: call.attempts, reason: reason,
                underlying: underlying))
    }

    /// Makes an error of this request from a transport's.
    func error(_ error: TransportError, response: HTTPResponse? = nil) -> NessError {
        var made = self.error(NessError.Kind(error.kind), error.reason, response: response, underlying: error.underlying)
        made.context.tlsFailure = error.tlsFailure
        made.context.repetition = error.repetition
        return made
    }

    /// Returns the error as the caller sees it. Called wherever an error leaves the pipeline: at the end of the call; at the end of an
    /// attempt, for the retry policy; and at the boundary of a loader, a stream's reader or a shared flight.
    ///
    /// The library's own errors become a `NessError` that names the caller's request and counts its attempts. An error that a custom loader
    /// threw, or that belongs to another call, passes unchanged.
    /// - Parameter other: The request of a shared flight, whose errors become this caller's; `nil` for none.
    func explain(_ error: any Error, of other: HTTPRequest? = nil) -> any Error {
        switch error {
        case let error as NessError:
            guard let named = error.request else { return other == nil ? error : renamed(error) }
            guard named.id == request.id || named.id == other?.id else { return error }
            return renamed(error)
        case is CancellationError, PromiseError.dropped:
            return self.error(.dropped, "the request was canceled")
        case is Call.Paused:
            return self.error(.dropped, "the request is paused")
        case let error as TransportError:
            return self.error(error)
        case let error as InvalidRequest:
            return self.error(.invalidRequest, error.description)
        case let error as FileError:
            return self.error(.fileSystem, error.description, underlying: error)
        default: return error
        }
    }

    private func renamed(_ error: NessError) -> NessError {
        var error = error
        error.context.request = request
        error.context.response = error.context.response.map { shown($0) }
        error.context.attempts = call.attempts
        if call.mayHaveActed { error.context.followsAction = true }
        return error
    }

    /// Returns a response as the response to this request. Another caller may have started the flight.
    /// - Parameters:
    ///   - response: The response.
    ///   - sent: The request that was sent for several callers, and this caller's equal request. If no step has changed the sent request,
    ///     the response names this caller's request instead.
    func shown(_ response: HTTPResponse, insteadOf sent: (theirs: HTTPRequest, mine: HTTPRequest)? = nil) -> HTTPResponse {
        if response.request.id == request.id { return response }
        var shown = response
        // With a `duplicateIdentifier`, another URL, method or field may have been sent. The cache must not take that response for the
        // response to this request.
        if let sent, response.request.isIdentical(to: sent.theirs), sent.mine.method == sent.theirs.method,
            sent.mine.url == sent.theirs.url, options.duplicateIdentifier == nil || sent.mine.headers == sent.theirs.headers
        {
            shown.request = sent.mine
        } else {
            // The request as it was sent, but with this caller's options and secrets.
            shown.request = response.request.shown(to: sent?.mine ?? request)
        }
        // The secrets of this caller are also secret in the redirects.
        if !shown.history.isEmpty { shown.history = shown.history.map { self.shown($0) } }
        return shown
    }

    /// Returns the error for an idle timeout.
    /// - Parameters:
    ///   - timeout: The timeout.
    ///   - bodyIsAwaited: True if the connection waited for the request's body. The caller is then at fault, and not the server.
    ///   - response: The part of the response that arrived.
    func idleError(after timeout: Duration, bodyIsAwaited: Bool = false, response: HTTPResponse?) -> NessError {
        guard bodyIsAwaited else { return error(.timedOut, "no byte was sent or received for \(timeout)", response: response) }
        let reason = "the request's body produced no byte for \(timeout)"
        var stalled = error(.timedOut, reason, response: response, underlying: StalledBody())
        stalled.context.repetition = .never("the request's body gave no byte")
        return stalled
    }
}

extension Call {
    /// Makes an error of this call: see `CallContext.error(_:_:response:underlying:)`.
    func error(_ kind: NessError.Kind, _ reason: String, response: HTTPResponse? = nil) -> NessError {
        CallContext(self).error(kind, reason, response: response)
    }

    /// Makes an error that ends this call from outside its attempts, such as a deadline. It keeps the response and the error of the last
    /// failed attempt.
    func endError(_ kind: NessError.Kind, _ reason: String, response: HTTPResponse? = nil) -> NessError {
        keepingCause(in: error(kind, reason, response: response))
    }

    /// Returns an error with the response and the error of the last failed attempt, unless the error has a response already.
    func keepingCause(in error: NessError) -> NessError {
        guard error.response == nil, let last = state.withLock({ $0.active?.lastFailure })?.attempt else { return error }
        var error = error
        error.context.response = last.response
        error.context.underlying = last.error
        return error
    }

    /// Returns the error as the caller sees it: see `CallContext.explain(_:of:)`.
    func explain(_ error: any Error) -> any Error { CallContext(self).explain(error) }

    /// Returns the final error of the call. If a response was rejected for its status, the API's own error becomes the underlying error.
    @inline(never)
    func explainFinally(_ error: any Error) -> any Error {
        let explained = explain(error)
        guard let parseError = options.parseError, var rejection = explained as? NessError, rejection.kind == .validation,
            rejection.underlying == nil, let response = rejection.response, !(200..<300).contains(response.statusCode),
            let failure = parseError(response)
        else { return explained }
        rejection.context.underlying = failure
        return rejection
    }
}

extension NessError.Kind {
    init(_ kind: TransportError.Kind) {
        self =
            switch kind {
            case .invalidRequest: .invalidRequest
            case .offline: .offline
            case .cannotConnect: .cannotConnect
            case .addressRejected: .addressRejected
            case .timedOut: .timedOut
            case .tls: .tls
            case .connectionLost: .connectionLost
            case .truncated: .truncated
            case .malformedResponse: .malformedResponse
            }
    }
}
