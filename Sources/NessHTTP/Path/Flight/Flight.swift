import Foundation
import NessLock
import NessPromise

/// A request on the wire, with its redirects. Calls with equal requests share a flight: each call is a member.
///
/// The first caller's task runs the flight, or a separate task if the flight may have to continue without that caller (see `Execution`).
/// Later callers wait for the outcome. A caller who leaves ends only its own wait. The last one to leave stops the flight. A flight that no
/// other caller may join, such as that of a POST, has one member.
///
/// With redirects, or as a download in segments, a flight has several exchanges.
final class Flight: Sendable {
    /// A caller who has joined.
    final class Member: Sendable {
        /// The idle timeouts: until the head of the response, and from then on.
        struct Timeouts: Sendable {
            let toHead: Duration
            let toEnd: Duration

            var earlier: Duration { min(toHead, toEnd).clampedForSleep }
        }

        let flight: Flight
        let context: CallContext
        /// Ends when the flight ends, or when the caller leaves it; `nil` for the caller whose task runs the flight.
        let waiter: ValueWaiter<HTTPResponse>?
        let id: WaiterQueue<Member>.ID
        let timeouts: Timeouts
        let joinedAt: Duration

        init(
            _ id: WaiterQueue<Member>.ID, of flight: Flight, _ context: CallContext, isRunner: Bool, timeouts: Timeouts,
            joinedAt: Duration
        ) {
            self.flight = flight
            self.context = context
            waiter = isRunner ? nil : ValueWaiter { flight.leave(id) }
            self.id = id
            self.timeouts = timeouts
            self.joinedAt = joinedAt
        }

        /// True if the task of the call runs the flight.
        var isRunner: Bool { waiter == nil }

        /// Leaves the flight. The last member to leave stops it.
        /// - Parameter error: The error that the member receives; `nil` if its call has one already.
        func leave(becauseOf error: (any Error)? = nil) { flight.leave(id, becauseOf: error) }

        /// Fails this member. The flight may continue for the others.
        fileprivate func fail(_ error: any Error) {
            if let waiter {
                waiter.resume(.failure(error))
            } else {
                // This caller's task runs the flight, so there is no wait to end. The call ends here instead, because no step above the
                // flight needs the error: see `Execution`.
                context.call.end(with: .failure(error))
            }
        }

        fileprivate func duplicateError(_ reason: String) -> any Error { context.error(.duplicate, reason) }

        /// Fails a member that another one has replaced.
        fileprivate func exclude(_ reason: String) { fail(duplicateError(reason)) }

        fileprivate func report(_ event: ExchangeEvent) {
            let isJoined = context.call !== flight.context.call
            context.call.report(event, attempt: context.attempt, joining: isJoined ? flight.context.request : nil)
        }

        /// Ends all of which this member's observers were notified, because its call continues without the flight.
        fileprivate func reportEnds(with error: any Error) {
            guard context.call.observation != nil else { return }
            let explained = context.explain(error, of: flight.context.request)
            for event in flight.state.withLock({ $0.ends(with: explained) }) { report(event) }
        }
    }

    /// The request of the first caller.
    let request: HTTPRequest
    /// The context of the first caller. Errors of the flight name its request. `CallContext.explain(_:of:)` renames them for each other
    /// member.
    let context: CallContext
    /// The parts that equal requests have in common; `nil` for a flight that no other request may join.
    let identity: RequestIdentity?
    private let clock: PipelineClock
    private let state = Lock(FlightState())

    /// True for a request that changes nothing on the server.
    var isRead: Bool { request.method.isSafe }

    /// Makes a flight without members.
    /// - Parameters:
    ///   - request: The request of the first caller.
    ///   - identity: The parts that equal requests have in common; `nil` if no other request may join.
    ///   - context: The context of the first caller.
    init(_ request: HTTPRequest, _ identity: RequestIdentity? = nil, in context: CallContext) {
        self.request = request
        self.identity = identity
        self.context = context
        clock = context.call.clock
    }

    // MARK: the start and the end

    /// Runs the flight in a separate task, with the task-local values of the first caller.
    /// - Returns: False if all callers have left it already. Nothing runs then.
    func start(_ operation: @escaping @Sendable () async -> Void) -> Bool {
        // The task is made under the lock, which `checkStop()` takes as well. A caller who leaves at this moment therefore finds the task to
        // cancel, and nothing is sent.
        state.withLock { state in state.start { Task { await operation() } } }
    }

    /// Called before a flight sends anything.
    /// - Throws: The error with which all callers have left.
    func checkStop() throws { if let error = state.withLock({ $0.stopError }) { throw error } }

    /// Ends the flight, and gives the members the outcome.
    /// - Returns: The outcome for the caller whose task runs the flight: the error of the stop, if the flight was stopped.
    @discardableResult
    func finish(_ outcome: Result<HTTPResponse, any Error>) -> Result<HTTPResponse, any Error> {
        let end = state.withLock { $0.finish(outcome) }
        for member in end.members { member.waiter?.resume(outcome) }
        return end.outcome
    }

    /// Ends the flight for its members, although application code may still run for it. Cancels the task that runs the flight, but does not
    /// wait for that task.
    func abandon(_ error: any Error) {
        let stop = state.withLock { $0.abandon(error) }
        for member in stop.members {
            member.reportEnds(with: error)
            member.fail(error)
        }
        stop.driver?.cancel()
    }

    /// True while a caller may join.
    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// The number of callers who have joined and not left.
    var callerCount: Int { state.withLock { $0.members.count } }

    // MARK: joining and leaving

    /// Adds a member.
    /// - Parameters:
    ///   - request: The caller's request.
    ///   - context: The caller's context.
    ///   - isRunner: True if the caller's task runs the flight, and so does not wait in it.
    ///   - exclusion: The reason for which the other members are excluded; `nil` to exclude none. Joining and excluding are one step: if
    ///     several callers exclude each other, the last one stays.
    /// - Returns: The caller as a member; `nil` if the flight no longer accepts callers: see `FlightState.Join.tooLate`.
    func join(_ request: HTTPRequest, in context: CallContext, isRunner: Bool = false, excludingOthers exclusion: String? = nil) -> Member?
    {
        let now = clock.elapsed()
        let timeouts = Member.Timeouts(toHead: request[FirstByteTimeout.self] ?? request.timeout, toEnd: request.timeout)
        // Read before the flight's lock is taken, because it takes the call's lock.
        let driver = isRunner ? context.call.task : nil
        let joined = state.withLock { state in
            state.join(drivenBy: driver, timeouts: timeouts, at: now, excludingOthers: exclusion != nil) {
                Member($0, of: self, context, isRunner: isRunner, timeouts: timeouts, joinedAt: now)
            }
        }
        switch joined {
        case .tooLate: return nil
        case .joined(let member, let isLate, let excluded, let checked):
            if let exclusion { for other in excluded { other.exclude(exclusion) } }
            if isLate { bringUpToDate(member) }
            for exchange in checked { exchange.checkIdleness() }
            return member
        case .late(let member, let outcome):
            // The outcome follows the events, because the caller's error contains the number of attempts, which the events count.
            bringUpToDate(member)
            member.waiter?.resume(outcome)
            return member
        }
    }

    /// Removes a member: see `Member.leave(becauseOf:)`.
    private func leave(_ id: WaiterQueue<Member>.ID, becauseOf error: (any Error)? = nil) {
        guard let left = state.withLock({ $0.leave(id, becauseOf: error ?? CancellationError()) }) else { return }
        left.member.reportEnds(with: error ?? CancellationError())
        // The error is delivered before the cancellation below, which would end the runner's call as dropped. A waiter must end here in any
        // case: if a loader ignores cancellation, nothing else ends it.
        if let error { left.member.fail(error) } else { left.member.waiter?.resume(.failure(CancellationError())) }
        guard let stop = left.stop else { return }
        stop.driver?.cancel()
        for exchange in stop.exchanges { exchange.stop(CancellationError()) }
    }

    /// Forgets the members of a flight that does not start. Otherwise the flight and its members would retain each other.
    func discard() { _ = state.withLock { $0.discard() } }

    /// Fails all members with `NessError.Kind.duplicate`, each with an error of its request. They then leave.
    func excludeMembers(becauseOf reason: String) {
        for member in state.withLock({ $0.members.elements }) { member.leave(becauseOf: member.duplicateError(reason)) }
    }

    // MARK: idleness

    /// True if some caller's idle timeout changes when the head arrives.
    var hasTimeoutToHead: Bool { state.withLock { $0.hasTimeoutToHead } }

    /// Fails the members whose idle timeout has passed. If it has passed for all of them, fails none: the flight itself has timed out.
    /// - Parameters:
    ///   - lastActivity: The time of the last byte in either direction, on the manager's clock.
    ///   - now: The current time, on the same clock.
    ///   - hasHead: True if the head of the response has arrived.
    /// - Returns: The verdict; `nil` for a flight without members, which is being stopped or has ended.
    func checkIdleness(since lastActivity: Duration, at now: Duration, hasHead: Bool) -> Idleness? {
        let (idle, next) = state.withLock { $0.checkIdleness(since: lastActivity, at: now, hasHead: hasHead) }
        guard let next else { return idle.map(\.timeout).max().map { .tooLong($0) } }
        for (member, timeout) in idle {
            let context = member.context
            member.leave(becauseOf: context.idleError(after: timeout, response: response.map { context.shown($0) }))
        }
        return .again(at: next)
    }

    /// Adds an exchange.
    /// - Throws: The error with which the flight was stopped.
    func add(_ exchange: Exchange) throws { try state.withLock { try $0.add(exchange) } }

    /// Removes an exchange, which has ended.
    func remove(_ exchange: Exchange) {
        // The caller keeps the object alive, so it is not released under the lock.
        state.withLock { $0.remove(exchange) }
    }

    /// True if a server may have acted on a request of the flight, such as a POST that led to a 303.
    var mayHaveActed: Bool { state.withLock { $0.mayHaveActed } }

    /// Notes that a server may have acted on a request.
    func noteAction() { state.withLock { $0.noteAction() } }

    /// Sets the collector of the partial response, while a request is on the wire.
    func setPartialResponse(_ collector: ResponseCollector?) { _ = state.withLock { $0.setPartial(collector) } }

    /// The part of the response that has arrived; `nil` before the head.
    var response: HTTPResponse? { state.withLock { $0.partial }?.response }
}

// MARK: events

extension Flight {
    /// Notifies the members with observers of the end of an exchange.
    func reportEnd(of exchange: RequestExchange, _ outcome: Result<HTTPResponse, any Error>) {
        let isObserved = state.withLock { state in
            if context.call.observation != nil || state.members.count > 1 { return true }
            if state.members.firstElement?.context.call.observation != nil { return true }
            // No event, and so no allocation. A member who joins later may have observers.
            state.keepEnd(of: exchange.id, outcome)
            return false
        }
        if isObserved { report(.ended(exchange, outcome)) }
    }

    /// Takes an event from the wire, and notifies every member.
    func report(_ event: ExchangeEvent) {
        let (only, others) = state.withLock { $0.report(event) }
        only?.report(event)
        for member in others { member.report(event) }
    }

    /// Notifies a late member of the events so far.
    private func bringUpToDate(_ member: Member) {
        var (notifiedCount, last) = (0, LatestEvents())
        // More events may arrive during each round.
        while true {
            let (news, count) = state.withLock { ($0.news(after: notifiedCount, for: member), $0.eventCount) }
            guard let news else { return }
            for event in news.since(last) { member.report(event) }
            (last, notifiedCount) = (news, count)
        }
    }
}

/// The verdict on an idle flight.
enum Idleness: Sendable {
    /// The timeout of every caller has passed. The associated value is the longest of these timeouts.
    case tooLong(Duration)
    /// The timeout of some caller has not passed. It passes at the given time if no byte arrives or leaves.
    case again(at: Duration)
}
