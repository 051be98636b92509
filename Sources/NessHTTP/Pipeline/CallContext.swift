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
            return self.error(NessError.Kind(error.kind), error.reason, underlying: error.underlying)
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
        if error.kind == .connectionLost, !request.isIdempotent, !context.reason.hasSuffix(Self.mayHaveActed) {
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

/// The context of a request on its way through the stages: the call that it belongs to, and what the stages above have added.
///
/// `HTTPNext` carries it. A stage that adds something passes a changed copy on, which the stages below see and those above do not.
struct CallContext: Sendable {
    /// What stages add.
    struct Additions: Sendable {
        /// The identifier of the caller's request, or of the one that a hook or a redirect's decision put in its place.
        var requestID: Int
        /// The number of the attempt, from 1.
        var attempt = 1
        /// When the deadline passes, on the manager's clock; nil for none.
        var deadlineEnd: Duration?
        /// Judge the response, in order: the observers' verdict, then the caller's validators.
        var validators: [any ResponseValidator]
        /// Hears what the transport does.
        var activity: (any RequestActivity)?
        /// Tells the observers, if there are any.
        var observation: Observation?
        /// Takes the response's body as it arrives; nil has it collected.
        var sink: (any BodySink)?
        /// The right to an exchange with the host.
        var slot: ExchangePlace?
        /// The base URL that a credential of the manager's is for; nil where the manager added none.
        var credentialScope: URL?
        /// The values that a jar wrote into the `Cookie` field.
        var cookies: JarCookies?
        /// The callers of a shared exchange; nil where one caller has the exchange alone.
        var audience: (any IdleAudience)?
    }

    let call: Call
    /// Nil until a stage has added something: many calls need none of it before they share an exchange.
    private var box: CopyOnWriteBox<Additions>?

    init(_ call: Call) { self.call = call }

    private var additions: Additions {
        box?.fields
            ?? Additions(
                requestID: call.request.id, validators: call.choices.validators, activity: call.tracker, sink: call.choices.sink)
    }

    // Written out: a key path would take longer than the stage that asks.
    var requestID: Int { box?.fields.requestID ?? call.request.id }
    var attempt: Int { box?.fields.attempt ?? 1 }
    var deadlineEnd: Duration? { box?.fields.deadlineEnd }
    var validators: [any ResponseValidator] { box?.fields.validators ?? call.choices.validators }
    var activity: (any RequestActivity)? { if let box { box.fields.activity } else { call.tracker } }
    var observation: Observation? { box?.fields.observation }
    var sink: (any BodySink)? { if let box { box.fields.sink } else { call.choices.sink } }
    var slot: ExchangePlace? { box?.fields.slot }
    var credentialScope: URL? { box?.fields.credentialScope }
    var cookies: JarCookies? { box?.fields.cookies }
    var audience: (any IdleAudience)? { box?.fields.audience }

    /// A copy with changes. Not inlined, so that no frame of a stage has room for what is changed.
    @inline(never)
    func with(_ change: (inout Additions) -> Void) -> CallContext {
        var changed = additions
        change(&changed)
        var copy = self
        copy.box = CopyOnWriteBox(changed)
        return copy
    }

    /// The context of a request that takes the place of the caller's: all that the caller wants of the response holds for it.
    func replacing(by request: HTTPRequest) -> CallContext {
        request.id == requestID ? self : with { $0.requestID = request.id }
    }

    /// The context of a request that a loader makes itself, a login say, on behalf of this call: it has the call's environment and its place in
    /// the queue, and counts as the call's. Nothing that the caller wants of the response holds for it.
    func own(_ request: HTTPRequest) -> CallContext {
        var choices = Call.Choices()
        choices.environment = call.choices.environment
        choices.jsonDecoder = call.choices.jsonDecoder
        choices.epoch = call.choices.epoch
        choices.groups = call.choices.groups
        let own = CallContext(Call(request.inheriting(from: call.request), choices, tracker: call.tracker))
        let mine = additions
        return own.with { additions in
            additions.attempt = mine.attempt
            additions.activity = mine.activity
            additions.observation = mine.observation
            additions.slot = mine.slot
        }
    }

    /// The context of a call that goes on in the background for this one, which has been answered: its listeners hear nothing of it.
    func background(_ call: Call) -> CallContext {
        let mine = additions
        return CallContext(call).with { additions in
            additions.credentialScope = mine.credentialScope
            additions.cookies = mine.cookies
            additions.attempt = mine.attempt
        }
    }

    /// The context of an exchange that runs for several calls, which this one began: nothing of this caller's is in it but what equal
    /// requests have in common.
    func shared(_ call: Call, exchange: any RequestActivity & IdleAudience) -> CallContext {
        let mine = additions
        return CallContext(call).with { additions in
            additions.activity = exchange
            additions.audience = exchange
            additions.credentialScope = mine.credentialScope
            additions.cookies = mine.cookies
            additions.validators = mine.validators
            additions.attempt = mine.attempt
        }
    }
}

/// The callers who wait for one exchange, each with an idle timeout of its own.
protocol IdleAudience: AnyObject, Sendable {
    /// Drops the callers for whom nothing has moved for too long, unless that is so for all of them: then the exchange itself has failed.
    /// - Parameters:
    ///   - lastActivity: When a byte last moved, on the manager's clock.
    ///   - now: The time now.
    func judgeIdleness(since lastActivity: Duration, at now: Duration) -> Idleness
    /// Sets the closure that runs when a caller with an earlier timeout has come.
    func onEarlierTimeout(_ look: @escaping @Sendable () -> Void)
}

/// The state of an exchange in which nothing moves.
enum Idleness: Sendable {
    /// The longest timeout of those who wait has passed.
    case tooLong(Duration)
    /// Someone still waits: until then, if nothing moves.
    case lookAgain(at: Duration)

    /// Judges an exchange with one timeout.
    static func judge(since lastActivity: Duration, _ timeout: Duration, at now: Duration) -> Idleness {
        let end = lastActivity + timeout.clampedForSleep
        return end <= now ? .tooLong(timeout) : .lookAgain(at: end)
    }
}

extension Call: PartialResponse {
    /// The part of the response that has arrived for this call: for those who share its exchange.
    var response: HTTPResponse? { responseSoFar }
}
