import Foundation

/// One call of a caller: the request, the caller's choices that are not part of the request, and the call's counters.
///
/// A call is made once and covers all attempts. It is internal: loaders and observers see only `HTTPRequest`. `CallContext` carries it from
/// stage to stage.
final class Call: Sendable {
    /// The caller's choices.
    struct Choices: Sendable {
        /// The kind of result. Only requests of one kind can be duplicates.
        var kind = RequestKind.data
        /// The groups that the request belongs to: see `Ness.dropAllRequests(in:)`.
        var groups: Set<String> = []
        /// The base URL, default headers and authentication at the time when the request started.
        var environment = ServerEnvironment()
        /// True if the caller's URL is a path with a leading slash, and so lies outside the base URL.
        var leavesBaseURL = false
        /// The caller's validators, in order.
        var validators: [any ResponseValidator] = []
        /// The decoder for the response's JSON, unless the caller gives another.
        var jsonDecoder: JSONDecoder?
        /// The control that decides on further attempts; `nil` for the manager's.
        var retryControl: (any RetryControl)?
        /// The source of the request's credential.
        var authentication = AuthenticationChoice.inherited
        /// The identifier that makes requests equal; `nil` compares method, URL, header fields and body.
        var duplicateIdentifier: String?
        /// The request's own loaders and observers; `nil` for none.
        var own: OwnStages?
        /// The number of the manager's resets before the call was made; `nil` for a call that no manager made.
        var epoch: Int?
        /// The destination of a download; `nil` for any other kind.
        var download: DownloadTarget?
        /// Takes the response's body as it arrives; `nil` to collect the body in memory.
        var sink: (any BodySink)?
        /// The closures that hear of the request while it runs; `nil` for none.
        var listeners: RequestListeners?
        /// Decodes the response into the caller's value. The pipeline runs it so that observers see a decoding error.
        var parse: (@Sendable (HTTPResponse) throws -> Void)?
        /// Decodes the API's own error from a refused response. Returns `nil` if the response holds none.
        var parseError: (@Sendable (HTTPResponse) -> (any Error)?)?
    }

    /// The request as the caller made it. Errors name this one.
    let request: HTTPRequest
    let choices: Choices
    /// Counts attempts and bytes.
    let tracker: RequestTracker

    init(_ request: HTTPRequest, _ choices: Choices, tracker: RequestTracker) {
        self.request = request
        self.choices = choices
        self.tracker = tracker
    }

    /// Makes a call without a caller, for the test of a single loader.
    convenience init(_ request: HTTPRequest, clock: PipelineClock = PipelineClock(ContinuousClock())) {
        self.init(request, Choices(), tracker: RequestTracker(clock))
    }

    // MARK: the response so far

    /// Sets the source of the partial response while an exchange runs for this call; `nil` once the exchange has ended.
    func setPartialResponse(_ source: (any PartialResponse)?) { tracker.setPartialResponse(source) }

    /// The part of the response that has arrived, as this caller may see it; `nil` before the head.
    var responseSoFar: HTTPResponse? { tracker.partialResponse?.response.map { shown($0) } }

    /// Returns a response as the answer to this call's request. The exchange may have been begun by another caller.
    /// - Parameters:
    ///   - response: The response.
    ///   - sent: The request that was sent for several callers, and this caller's equal request. If no stage has changed the sent request,
    ///     the response names this caller's request instead.
    func shown(_ response: HTTPResponse, insteadOf sent: (theirs: HTTPRequest, mine: HTTPRequest)? = nil) -> HTTPResponse {
        if response.request.id == request.id { return response }
        var shown = response
        if let sent, response.request.isIdentical(to: sent.theirs) {
            shown.request = sent.mine
        } else {
            shown.request = response.request.shown(to: request)
        }
        // The secrets of this caller are secret in the redirects, too.
        if !shown.history.isEmpty { shown.history = shown.history.map { self.shown($0) } }
        return shown
    }

    // MARK: errors

    /// Makes an error of this call.
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
                request: request, response: response, attempts: tracker.attempts, reason: reason, underlying: underlying))
    }

    /// Makes an error of this call from a transport's.
    func error(_ error: TransportError, response: HTTPResponse? = nil) -> NessError {
        let made = self.error(NessError.Kind(error.kind), error.reason, response: response, underlying: error.underlying)
        var context = made.context
        context.tlsFailure = error.tlsFailure
        context.isFinal = error.isFinal
        context.isUnsent = error.isUnsent
        context.isPartlySent = error.isPartlySent
        return NessError(made.kind, context)
    }

    /// Returns the error as the caller sees it.
    ///
    /// The library's own errors become a `NessError` that names the caller's request and counts its attempts. An error that a loader of the
    /// application threw, or that belongs to another call, passes unchanged.
    func explain(_ error: any Error) -> any Error {
        switch error {
        case let error as NessError:
            guard let named = error.request, named.id == request.id else { return error }
            return renamed(error)
        case is CancellationError, PromiseError.dropped:
            return self.error(.dropped, "the request was cancelled")
        case let error as TransportError:
            return self.error(error)
        case let error as FileError:
            return self.error(.fileSystem, error.description, underlying: error)
        default: return error
        }
    }

    /// Returns the error of a shared exchange as this caller sees it.
    func explain(_ error: any Error, sharedBy other: Call) -> any Error {
        guard let error = error as? NessError, error.request == nil || error.request?.id == other.request.id else { return explain(error) }
        return renamed(error)
    }

    /// Returns the final error of the call. If a response was refused for its status, the API's own error becomes the underlying error.
    @inline(never)
    func explainFinally(_ error: any Error) -> any Error {
        let explained = explain(error)
        guard let parseError = choices.parseError, case NessError.validation(var context) = explained, context.underlying == nil,
            let response = context.response, !(200..<300).contains(response.statusCode), let failure = parseError(response)
        else { return explained }
        context.underlying = failure
        return NessError.validation(context)
    }

    private func renamed(_ error: NessError) -> NessError {
        var context = error.context
        context.request = request
        context.response = context.response.map { shown($0) }
        context.attempts = tracker.attempts
        // A caller who sends such a request again may cause its effect twice, so the reason warns of it.
        if error.kind == .connectionLost, error.mayHaveReachedServer, !request.isIdempotent, !context.reason.hasSuffix(Self.mayHaveActed) {
            context.reason += Self.mayHaveActed
        }
        return NessError(error.kind, context)
    }

    private static let mayHaveActed = "; the server may have acted on the request"
}

extension NessError.Kind {
    init(_ kind: TransportError.Kind) {
        switch kind {
        case .invalidRequest: self = .invalidRequest
        case .offline: self = .offline
        case .cannotConnect: self = .cannotConnect
        case .timedOut: self = .timedOut
        case .tls: self = .tls
        case .connectionLost: self = .connectionLost
        case .truncated: self = .truncated
        case .malformedResponse: self = .malformedResponse
        }
    }
}

extension Call: PartialResponse {
    /// The part of the response that has arrived for this call. The callers who share its exchange read it.
    var response: HTTPResponse? { responseSoFar }
}
