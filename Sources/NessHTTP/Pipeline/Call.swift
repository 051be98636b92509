import Foundation

/// One call: what the caller chose for a request besides what the request says, and what is counted while it runs.
///
/// It is made once a call and never shown. `CallContext` carries it from stage to stage.
final class Call: Sendable {
    /// The caller's choices.
    struct Choices: Sendable {
        /// The kind of result. Only requests of one kind can be duplicates.
        var kind = RequestKind.data
        /// The groups that the request can be dropped with: see `Ness.dropAllRequests(in:)`.
        var groups: Set<String> = []
        /// The base URL, default headers and credentials that the request began with.
        var environment = ServerEnvironment()
        /// The caller's validators, in order.
        var validators: [any ResponseValidator] = []
        /// The decoder of the response's JSON where no other is given.
        var jsonDecoder: JSONDecoder?
        /// The control that decides on further attempts instead of the manager's.
        var retryControl: (any RetryControl)?
        /// The authentication of this request, instead of the environment's for its base URL.
        var authentication = AuthenticationChoice.inherited
        /// The identifier that equal requests share; nil compares what the requests say.
        var duplicateIdentifier: String?
        /// The number of resets that the manager had seen when the call was made; nil for one that no manager made.
        var epoch: Int?
        /// The destination of a download; nil for any other kind.
        var download: DownloadTarget?
        /// Takes the response's body as it arrives; nil has it collected.
        var sink: (any BodySink)?
        /// Turns the response into the caller's value, so that observers hear of a failure in it.
        var parse: (@Sendable (HTTPResponse) throws -> Void)?
        /// Reads the API's own error from a response that was refused; nil where it holds none.
        var parseError: (@Sendable (HTTPResponse) -> (any Error)?)?
    }

    /// The request as the caller made it: the one that errors name.
    let request: HTTPRequest
    let choices: Choices
    /// Counts attempts and bytes.
    let tracker: RequestTracker

    init(_ request: HTTPRequest, _ choices: Choices, tracker: RequestTracker) {
        self.request = request
        self.choices = choices
        self.tracker = tracker
    }

    /// Makes a call that no caller made: for a loader on its own.
    convenience init(_ request: HTTPRequest, clock: Timekeeper = Timekeeper(ContinuousClock())) {
        self.init(request, Choices(), tracker: RequestTracker(clock))
    }

    // MARK: the response so far

    /// Sets what knows the response of the exchange that runs for this call; nil when it has ended.
    func setPartialResponse(_ source: (any PartialResponse)?) { tracker.setPartialResponse(source) }

    /// The part of a response that has arrived by now, as this caller may see it; nil before its head.
    var responseSoFar: HTTPResponse? { tracker.partialResponse?.response.map { shown($0) } }

    /// A response that another caller's request may have brought, as the answer to this call's request.
    /// - Parameters:
    ///   - response: The response.
    ///   - sent: The request that was sent for several callers, and this caller's equal of it: the latter stands for the former where no stage
    ///     has changed it on its way.
    func shown(_ response: HTTPResponse, insteadOf sent: (theirs: HTTPRequest, mine: HTTPRequest)? = nil) -> HTTPResponse {
        if response.request.id == request.id { return response }
        var shown = response
        if let sent, response.request.isIdentical(to: sent.theirs) {
            shown.request = sent.mine
        } else {
            shown.request = response.request.shown(to: request)
        }
        return shown
    }

    // MARK: errors

    /// Makes an error of this call.
    /// - Parameters:
    ///   - kind: The kind.
    ///   - reason: The reason, in a few words.
    ///   - response: The response, or the part of it that arrived.
    ///   - underlying: The error beneath.
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
        return NessError(made.kind, context)
    }

    /// The error as the caller sees it: errors of ours as a `NessError` that names the caller's request and counts its attempts. An error
    /// that a loader of the caller's threw, or that belongs to another call, passes as it is.
    func explain(_ error: any Error) -> any Error {
        switch error {
        case let error as NessError:
            guard let named = error.request, named.id == request.id else { return error }
            return renamed(error)
        case is CancellationError, PromiseError.dropped:
            return self.error(.dropped, "the request was cancelled")
        case let error as TransportError:
            return self.error(error)
        case let error as FileFailure:
            return self.error(.fileSystem, error.description, underlying: error)
        default: return error
        }
    }

    /// The error of an exchange that another call began, as this caller sees it.
    func explain(_ error: any Error, sharedBy other: Call) -> any Error {
        guard let error = error as? NessError, error.request == nil || error.request?.id == other.request.id else { return explain(error) }
        return renamed(error)
    }

    /// The error at the end of the call: with what the API says about a response that was refused.
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
        // A caller has to know this before sending the request again.
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
    /// The part of the response that has arrived for this call: for those who share its exchange.
    var response: HTTPResponse? { responseSoFar }
}
