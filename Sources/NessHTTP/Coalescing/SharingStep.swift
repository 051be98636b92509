import Foundation
import NessLock
import NessPromise

/// Finds the flight that a request may share, as the manager's `DuplicatedHandler` decides.
///
/// A read that starts after a write to the same URL has completed never joins a flight that started before the write completed. It could
/// get the state from before the write.
final class SharingStep<Shared: SharedFlight>: Sendable {
    private let flights = Lock(FlightTable<Shared>())
    private let ignoredHeaders: Set<String>
    /// Returns the manager's current handler; `nil` to share GET, HEAD and OPTIONS.
    private let handler: @Sendable () -> (any DuplicatedHandler)?

    init(ignoringHeaders names: [String], handler: @escaping @Sendable () -> (any DuplicatedHandler)?) {
        // `Priority` is a hint about the order of responses. It does not change them.
        ignoredHeaders = Set((names + [HeaderName.priority]).map(\.asciiLowercased))
        self.handler = handler
    }

    /// The way in which a request gets its flight.
    struct Decision: Sendable {
        /// The running flight that the request joins; `nil` to start one.
        var joined: Shared?
        /// The identity of a new flight; `nil` for one that no other request may join.
        var identity: RequestIdentity?
        /// The running flight that a new one replaces.
        var replaced: Shared?
        /// The reason of the error with which the caller is excluded alone; `nil` for a caller who joins or starts a flight.
        var refusal: String?
        /// The reason of the errors with which other callers are excluded; `nil` to exclude none.
        var exclusion: String?
        /// Receives the outcome in place of the caller, who is excluded like the others.
        var completion: (@Sendable (Result<HTTPResponse, any Error>) -> Void)?
    }

    /// Closes the reads of a write's URL to new callers.
    @inline(never)
    func closeReads(after request: HTTPRequest) { closeReads(of: ExactText(request.normalizedURL)) }

    /// Closes the reads of all URLs that have received a write, redirects included, to new callers.
    @inline(never)
    func closeReads(after response: HTTPResponse) {
        for url in response.writtenURLs { closeReads(of: ExactText(ParsedURL(url).normalized)) }
    }

    func closeReads(of target: ExactText) { flights.withLock { $0.closeReads(of: target) } }

    func reset() { flights.withLock { $0 = FlightTable() } }

    func remove(_ flight: Shared) {
        if flight.identity != nil { flights.withLock { $0.remove(flight) } }
    }

    /// Adds a flight, unless no other request may join it. Returns false if another caller was faster.
    func insert(_ flight: Shared, replacing old: Shared?) -> Bool {
        flight.identity == nil || flights.withLock { $0.insert(flight, replacing: old) }
    }

    /// Decides what a request does.
    /// - Parameters:
    ///   - request: The request as it would be sent.
    ///   - kind: The kind of its result.
    ///   - isOwn: Returns true for a flight that runs for the same call. A loader that sends a request again wants a second response.
    ///   - makeIdentity: Takes the names, in lower case, of fields that are not compared. Makes the identity of the request.
    @inline(never)
    func decide(
        _ request: HTTPRequest, of kind: RequestKind, isOwn: (Shared) -> Bool, _ makeIdentity: (Set<String>) -> RequestIdentity?
    ) -> Decision {
        let isMerged = request.method == .get || request.method == .head || request.method == .options
        let chosen = handler()
        // Such requests need no entry in the table.
        if (chosen as? DefaultDuplicatedHandler) == .requestAllSeparately { return Decision() }
        guard let handler = chosen ?? (isMerged ? DefaultDuplicatedHandler.keepAllCompletion : nil),
            let identity = makeIdentity(ignoredHeaders)
        else { return Decision() }
        guard let flight = flights.withLock({ $0.running(identity) }) else { return Decision(identity: identity) }
        if isOwn(flight) { return Decision() }
        let decision = handler.decide(on: DuplicatedRequest(kind: kind, request: request, callerCount: flight.callerCount))
        // Made where it is needed: a caller who joins, the most frequent case, needs none.
        var exclusion: String { "excluded by the duplicate policy \(decision.name)" }
        switch decision {
        case .requestSeparately: return Decision()
        case .ignoreCurrentCompletion: return Decision(refusal: exclusion)
        case .useBothCompletion: return Decision(joined: flight)
        case .useCurrentCompletion: return Decision(joined: flight, exclusion: exclusion)
        case .useCompletion(let completion): return Decision(joined: flight, exclusion: exclusion, completion: completion)
        case .dropAndRequestAgain: return Decision(identity: identity, replaced: flight, exclusion: exclusion)
        case .dropAndRequestAgainWithCompletion(let completion):
            return Decision(identity: identity, replaced: flight, exclusion: exclusion, completion: completion)
        }
    }
}
