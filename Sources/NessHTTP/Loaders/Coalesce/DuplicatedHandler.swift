/// Decides what becomes of a request that is made while an equal one is on its way.
///
/// Equal are requests of the same kind with the same method, URL, header fields and body, as they would go on the wire. A manager without a
/// handler merges GET, HEAD and OPTIONS and sends everything else separately; a handler that is set is asked about every duplicate.
public protocol DuplicatedHandler: Sendable {
    /// Decides. Runs off the main thread.
    /// - Parameter duplicate: The request that was made later.
    /// - Returns: The decision.
    func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision
}

/// A request that equals one that is on its way.
public struct DuplicatedRequest: Sendable {
    /// What the result is kept as.
    public let kind: RequestKind
    /// The request that was made later.
    public let request: HTTPRequest
    /// How many callers wait for the one that is on its way.
    public let callerCount: Int

    /// Makes a duplicate: for testing a handler on its own.
    /// - Parameters:
    ///   - kind: What the result is kept as.
    ///   - request: The request that was made later.
    ///   - callerCount: How many callers wait for the one that is on its way.
    public init(kind: RequestKind, request: HTTPRequest, callerCount: Int = 1) {
        self.kind = kind
        self.request = request
        self.callerCount = callerCount
    }
}

/// What becomes of a duplicate. A caller who is set aside fails with `NessError.duplicate`, which names the decision.
public enum RequestDuplicatedDecision: Sendable {
    /// The callers before are set aside and their exchange is dropped; the current one is sent.
    case dropAndRequestAgain
    /// The exchange before is dropped and the current request is sent; a closure takes its result, and every caller is set aside. The
    /// closure runs off the main thread.
    case dropAndRequestAgainWithCompletion(@Sendable (Result<HTTPResponse, any Error>) -> Void)
    /// The current caller is set aside.
    case ignoreCurrentCompletion
    /// The callers before are set aside; the current one takes over their exchange.
    case useCurrentCompletion
    /// All get the result of the one exchange.
    case useBothCompletion
    /// A closure takes the result of the exchange that is on its way, and every caller is set aside. The closure runs off the main thread.
    case useCompletion(@Sendable (Result<HTTPResponse, any Error>) -> Void)
    /// The current request is sent for itself.
    case requestSeparately

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

/// The usual handlers.
public enum DefaultDuplicatedHandler: DuplicatedHandler, Hashable {
    /// The newest request is sent, those before it are dropped.
    case dropPreviousRequest
    /// All get the result of the first.
    case keepAllCompletion
    /// Only the first gets the result.
    case keepFirstCompletion
    /// Only the newest gets the result of the first.
    case keepLatestCompletion
    /// Nothing is merged.
    case requestAllSeparately

    /// Decides by the case alone.
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
