/// Decides what happens to a request that is made while an equal one is in flight.
///
/// Two requests are equal if they have the same kind of result, method, URL, header fields and body, and the same settings and options that
/// may concern the exchange. With `set(duplicateIdentifier:)`, the identifier takes the place of method, URL, header fields and body;
/// secret header fields must still be equal.
///
/// Without a handler, a manager coalesces equal GET, HEAD and OPTIONS requests into one exchange, and sends every other request separately.
/// A handler (`Ness.Configuration.duplicatedHandler`) changes this for any method, even POST. `DefaultDuplicatedHandler` has the usual
/// choices.
///
/// ```swift
/// /// Shares reads, and ignores the second tap on a button that sends an order.
/// struct OneOrderAtATime: DuplicatedHandler {
///     func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision {
///         duplicate.request.method.isSafe
///             ? .useBothCompletion : .ignoreCurrentCompletion
///     }
/// }
///
/// let ness = Ness { $0.duplicatedHandler = OneOrderAtATime() }
/// ```
///
/// **Requests that are never duplicates:** streams, resumable uploads, requests with their own transport or with loaders at `.exchange`, requests whose
/// redirects a closure decides, and requests with a body that is a sequence or that a closure makes. A call never joins its own exchange.
/// Header fields in `headersIgnoredInDuplicates` are not compared.
///
/// **Callers stay separate.** Callers who share an exchange each have their own promise, validators, timeout and retry policy. Dropping one
/// promise does not affect the others. The exchange ends when its last caller leaves. A caller whom a decision excludes fails with
/// `NessError.Kind.duplicate`, which names the decision.
///
/// **Threads.** Ness calls the handler off the main thread, in the task of the later request, and for several requests at the same time. It
/// must not block. It may be called again for the same request if the exchange in flight ends meanwhile.
///
/// **Testing.** `DuplicatedRequest` has a public initializer:
///
/// ```swift
/// let request = HTTPRequest(.post, url: url)
/// let duplicate = DuplicatedRequest(kind: .data, request: request)
/// guard case .ignoreCurrentCompletion = OneOrderAtATime().decide(on: duplicate)
/// else {
///     Issue.record("the order would be sent twice")
///     return
/// }
/// ```
public protocol DuplicatedHandler: Sendable {
    /// Decides what happens to a duplicate. Runs off the main thread.
    /// - Parameter duplicate: The later request, and the number of callers who wait for the earlier one.
    /// - Returns: The decision.
    func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision
}

/// A request that equals one in flight.
public struct DuplicatedRequest: Sendable {
    /// The kind of result, which is the same for both requests.
    public let kind: RequestKind
    /// The later request, as it would be sent.
    public let request: HTTPRequest
    /// The number of callers who wait for the exchange in flight.
    public let callerCount: Int

    /// Makes a duplicate, to test a handler without a manager.
    /// - Parameters:
    ///   - kind: The kind of result.
    ///   - request: The later request.
    ///   - callerCount: The number of callers who wait for the exchange in flight.
    public init(kind: RequestKind, request: HTTPRequest, callerCount: Int = 1) {
        self.kind = kind
        self.request = request
        self.callerCount = callerCount
    }
}

/// The decision of a `DuplicatedHandler`.
///
/// The names are those of iONess. "Current" means the later request and its caller. A caller who is excluded fails with
/// `NessError.Kind.duplicate`, which names the decision.
public enum RequestDuplicatedDecision: Sendable {
    /// Sends the current request. The exchange in flight is dropped, and its callers are excluded.
    case dropAndRequestAgain
    /// Sends the current request, and passes its result to a closure. The exchange in flight is dropped, and every caller is excluded. The
    /// closure runs off the main thread. It is not called if the current request is dropped before the decision takes effect.
    case dropAndRequestAgainWithCompletion(@Sendable (Result<HTTPResponse, any Error>) -> Void)
    /// Excludes the current caller. The exchange in flight and its callers continue.
    case ignoreCurrentCompletion
    /// Gives the exchange in flight to the current caller. The earlier callers are excluded.
    case useCurrentCompletion
    /// Shares the exchange in flight: every caller gets its result.
    case useBothCompletion
    /// Passes the result of the exchange in flight to a closure. Every caller is excluded. The closure runs off the main thread. It is not
    /// called if the current request is dropped before the decision takes effect.
    case useCompletion(@Sendable (Result<HTTPResponse, any Error>) -> Void)
    /// Sends the current request separately. The exchange in flight and its callers continue.
    case requestSeparately

    /// The case, as errors name it.
    var name: String {
        switch self {
        case .dropAndRequestAgain: "dropAndRequestAgain"
        case .dropAndRequestAgainWithCompletion: "dropAndRequestAgainWithCompletion"
        case .ignoreCurrentCompletion: "ignoreCurrentCompletion"
        case .useCurrentCompletion: "useCurrentCompletion"
        case .useBothCompletion: "useBothCompletion"
        case .useCompletion: "useCompletion"
        case .requestSeparately: "requestSeparately"
        }
    }
}

/// The usual duplicate handlers.
public enum DefaultDuplicatedHandler: DuplicatedHandler, Hashable {
    /// Sends the newest request, and drops the earlier ones.
    case dropPreviousRequest
    /// Gives every caller the result of the first request.
    case keepAllCompletion
    /// Gives only the first caller the result.
    case keepFirstCompletion
    /// Gives only the newest caller the result of the first request.
    case keepLatestCompletion
    /// Sends every request separately.
    case requestAllSeparately

    /// Returns the decision that the case stands for.
    public func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision {
        switch self {
        case .dropPreviousRequest: .dropAndRequestAgain
        case .keepAllCompletion: .useBothCompletion
        case .keepFirstCompletion: .ignoreCurrentCompletion
        case .keepLatestCompletion: .useCurrentCompletion
        case .requestAllSeparately: .requestSeparately
        }
    }
}
