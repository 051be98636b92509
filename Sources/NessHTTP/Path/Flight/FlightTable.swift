import NessLock

/// The flights that callers may join, by identity. Finds the flight that a request may share, as the manager's `DuplicatedHandler` decides.
///
/// A read that starts after a write to the same URL has completed never joins a flight that started before the write completed. It could
/// get the state from before the write.
///
/// The cost of a request does not depend on the number of flights, not even if all are for one URL.
final class FlightTable: Sendable {
    private struct State: Sendable {
        /// The flights, each with its number, counted from 1.
        var entries: [RequestIdentity: (flight: Flight, number: Int)] = [:]
        /// The number of flights so far.
        var count = 0
        /// The number of the last flight that started before the latest write to a target, by the target's hash. The key is the hash, so
        /// that the table keeps no URL in memory. If two targets have the same hash, a read may be sent needlessly.
        var lastBeforeWrite: [Int: Int] = [:]
        /// The number of remembered writes above which the table forgets those that no longer close a read.
        var writeLimit = FlightTable.leastWriteLimit

        func joinableFlight(for identity: RequestIdentity) -> Flight? {
            guard let (flight, number) = entries[identity], flight.isOpen else { return nil }
            // `isEmpty` comes first, because the hash of the target takes longer.
            guard flight.isRead, !lastBeforeWrite.isEmpty, let last = lastBeforeWrite[identity.target.hashValue] else { return flight }
            return number > last ? flight : nil
        }

        /// Forgets the writes that close no read in flight.
        mutating func forgetWrites() {
            var oldestReads: [Int: Int] = [:]
            for (identity, entry) in entries where entry.flight.isRead {
                oldestReads[identity.target.hashValue] = min(entry.number, oldestReads[identity.target.hashValue] ?? .max)
            }
            lastBeforeWrite = lastBeforeWrite.filter { hash, number in oldestReads[hash].map { $0 <= number } ?? false }
            // The next search follows after at least as many writes as there are flights, so the average cost of a write does not depend on
            // their number.
            writeLimit = max(FlightTable.leastWriteLimit, 2 * lastBeforeWrite.count, entries.count)
        }
    }

    private static let leastWriteLimit = 16

    private let state = Lock(State())
    private let ignoredHeaders: Set<String>
    /// Returns the manager's current handler; `nil` to share GET, HEAD and OPTIONS.
    private let handler: @Sendable () -> (any DuplicatedHandler)?

    init(ignoringHeaders names: [String], handler: @escaping @Sendable () -> (any DuplicatedHandler)?) {
        // `Priority` is a hint about the order of responses. It does not change them.
        ignoredHeaders = Set((names + [HeaderName.priority]).map(\.asciiLowercased))
        self.handler = handler
    }

    /// The number of writes that are remembered. Tests verify with it that it does not grow.
    var writeCount: Int { state.withLock { $0.lastBeforeWrite.count } }

    /// Returns the flight that an equal request may join.
    func joinableFlight(for identity: RequestIdentity) -> Flight? { state.withLock { $0.joinableFlight(for: identity) } }

    /// Adds a flight, unless no other request may join it. Returns false if the joinable flight is no longer `old`: another caller was
    /// faster.
    func insert(_ flight: Flight, replacing old: Flight?) -> Bool {
        guard let identity = flight.identity else { return true }
        return state.withLock { state in
            guard state.joinableFlight(for: identity) === old else { return false }
            state.count += 1
            state.entries[identity] = (flight, state.count)
            return true
        }
    }

    /// Removes a flight, unless another one has replaced it.
    func remove(_ flight: Flight) {
        guard let identity = flight.identity else { return }
        state.withLock { state in
            guard state.entries[identity]?.flight === flight else { return }
            state.entries[identity] = nil
            if state.entries.isEmpty, !state.lastBeforeWrite.isEmpty { state.forgetWrites() }
        }
    }

    func reset() { state.replace(\.self, with: State()) }

    // MARK: writes

    /// Closes the reads of a write's URL to new callers.
    @inline(never)
    func closeReads(after request: HTTPRequest) { closeReads(of: ExactText(request.normalizedURL)) }

    /// Closes the reads of all URLs that have received a write, redirects included, to new callers.
    @inline(never)
    func closeReads(after response: HTTPResponse) {
        for url in response.writtenURLs { closeReads(of: ExactText(ParsedURL(url).normalized)) }
    }

    /// Closes the reads of a target to new callers. Callers who have joined keep waiting.
    /// - Parameter target: The URL of a write, in its normal form.
    func closeReads(of target: ExactText) {
        state.withLock { state in
            if state.entries.isEmpty { return }
            state.lastBeforeWrite[target.hashValue] = state.count
            if state.lastBeforeWrite.count > state.writeLimit { state.forgetWrites() }
        }
    }

    // MARK: the decision

    /// The way in which a request gets its flight.
    enum Decision: Sendable {
        /// The request starts a flight that no other request may join.
        case separate
        /// The request starts a flight that equal requests may join.
        case start(RequestIdentity)
        /// The request joins a flight. An exclusion applies to its earlier callers.
        case join(Flight, excluding: Exclusion?)
        /// The request starts a flight that equal requests may join, in place of another flight, whose callers are excluded.
        case replace(Flight, with: RequestIdentity, excluding: Exclusion)
        /// The caller is excluded alone. The reason is that of its error.
        case reject(reason: String)

        var exclusion: Exclusion? {
            switch self {
            case .join(_, let exclusion?), .replace(_, _, let exclusion): exclusion
            case .separate, .start, .join, .reject: nil
            }
        }
    }

    /// The exclusion of a flight's callers.
    struct Exclusion: Sendable {
        /// The reason of their errors.
        let reason: String
        /// Receives the outcome in place of the later caller, who is excluded like the others. `nil` if that caller stays.
        var completion: (@Sendable (Result<HTTPResponse, any Error>) -> Void)?
    }

    /// Decides what a request does.
    /// - Parameters:
    ///   - request: The request as it would be sent.
    ///   - context: The context of the request.
    @inline(never)
    func decide(_ request: HTTPRequest, _ context: CallContext) -> Decision {
        let isMerged = request.method == .get || request.method == .head || request.method == .options
        let chosen = handler()
        // Such requests need no entry in the table.
        if (chosen as? DefaultDuplicatedHandler) == .requestAllSeparately { return .separate }
        guard let handler = chosen ?? (isMerged ? DefaultDuplicatedHandler.keepAllCompletion : nil),
            let identity = context.identity(of: request, ignoring: ignoredHeaders)
        else { return .separate }
        guard let flight = joinableFlight(for: identity) else { return .start(identity) }
        // A loader that sends a request again, while the same call waits in this flight, wants a second response.
        if context.options.download == nil, context.call.isMember(of: flight) { return .separate }
        let duplicate = DuplicatedRequest(kind: context.options.kind, request: request, callerCount: flight.callerCount)
        let decision = handler.decide(on: duplicate)
        // Made where it is needed: a caller who joins, the most frequent case, needs none.
        var reason: String { "excluded by the duplicate policy \(decision.name)" }
        switch decision {
        case .requestSeparately: return .separate
        case .ignoreCurrentCompletion: return .reject(reason: reason)
        case .useBothCompletion: return .join(flight, excluding: nil)
        case .useCurrentCompletion: return .join(flight, excluding: Exclusion(reason: reason))
        case .useCompletion(let completion): return .join(flight, excluding: Exclusion(reason: reason, completion: completion))
        case .dropAndRequestAgain: return .replace(flight, with: identity, excluding: Exclusion(reason: reason))
        case .dropAndRequestAgainWithCompletion(let completion):
            return .replace(flight, with: identity, excluding: Exclusion(reason: reason, completion: completion))
        }
    }
}
