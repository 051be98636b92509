import Foundation
import NessLock
import NessPromise

/// What equal calls share: one request with its redirects, and the calls as its members.
///
/// The task of the first caller runs it, or a separate task if the first caller may have to continue without it. Later callers wait in it.
/// A caller who leaves ends its own wait only; the last one to leave stops the flight. A flight that nobody else may join, such as
/// that of a POST, has one member.
///
/// With redirects, or as a download in segments, a flight has several exchanges.
final class Flight: Sendable {
    fileprivate typealias MemberID = WaiterQueue<Member>.ID

    /// A caller who has joined.
    ///
    /// `@unchecked Sendable`: the flight's lock guards `isUpToDate`, and the rest is constant.
    final class Member: @unchecked Sendable {
        let flight: Flight
        let context: CallContext
        /// Ends when the flight ends, or when the caller leaves it; `nil` for the caller whose task runs the flight.
        let waiter: ValueWaiter<HTTPResponse>?
        fileprivate let id: MemberID
        /// The idle timeouts: until the head of the response, and from then on.
        fileprivate let timeouts: (toHead: Duration, toEnd: Duration)
        fileprivate let joinedAt: Duration
        /// True once the caller knows the events so far. Until then `join` notifies it, and nothing else does: a newer event would
        /// otherwise overtake the older ones.
        fileprivate var isUpToDate: Bool

        fileprivate init(
            _ id: MemberID, of flight: Flight, _ context: CallContext, isRunner: Bool,
            timeouts: (toHead: Duration, toEnd: Duration), joinedAt: Duration, isUpToDate: Bool
        ) {
            self.flight = flight
            self.context = context
            waiter = isRunner ? nil : ValueWaiter { flight.leave(id) }
            self.id = id
            self.timeouts = timeouts
            self.joinedAt = joinedAt
            self.isUpToDate = isUpToDate
        }

        /// True if the task of the call runs the flight.
        var isRunner: Bool { waiter == nil }

        /// Leaves the flight, which ends with its last member.
        /// - Parameter error: The error that the member's wait ends with; `nil` if it has ended.
        func leave(becauseOf error: (any Error)? = nil) { flight.leave(id, becauseOf: error) }

        /// Ends the member's part in a flight that may continue.
        fileprivate func fail(_ error: any Error) {
            if let waiter {
                waiter.resume(.failure(error))
            } else {
                // The task of this caller runs the flight. Nothing above it wants the error: see `Pipeline.needsTask`.
                context.call.end(with: .failure(context.explain(error, of: flight.context.request)))
            }
        }

        fileprivate func duplicateError(_ reason: String) -> any Error { context.error(.duplicate, reason) }

        /// Fails a member that another one has replaced.
        fileprivate func exclude(_ reason: String) { fail(duplicateError(reason)) }

        fileprivate func report(_ event: ExchangeEvent) { context.call.report(event, attempt: context.attempt) }
    }

    /// The members of a flight, and what has happened.
    struct State: Sendable {
        /// In the order in which they joined. A queue, because any of many callers may leave.
        fileprivate var members = WaiterQueue<Member>()
        fileprivate var events = LatestEvents()
        /// The number of events so far.
        fileprivate var eventCount = 0
        /// The time of the next idle check; `nil` if none is planned.
        fileprivate var nextCheck: Duration?
        /// True if a caller has another idle timeout once the head has arrived.
        fileprivate var hasTimeoutToHead = false
        /// The exchanges: several for a download in segments.
        fileprivate var exchanges: [any WireExchange] = []
        /// True once the flight has ended or was left by all.
        fileprivate var hasEnded = false
        /// True while the flight is about to time out for all callers. A new caller may then not join, because it would share the
        /// failure.
        fileprivate var isTimingOut = false
        /// The outcome, for a caller who decided to join just before it came. `nil` for a flight that ended without callers.
        fileprivate var outcome: Result<HTTPResponse, any Error>?
        /// The flight's own task; `nil` before its start, and if the first caller's task runs the flight.
        fileprivate var task: Task<Void, Never>?
        /// The caller whose task runs the flight; `nil` if it has its own.
        fileprivate var runner: Call?
        /// The error with which the flight was stopped: that of the last member that left, or of code that is abandoned. From then on it
        /// is the only outcome: several steps may notice the stop, in any order.
        fileprivate var stopError: (any Error)?
        fileprivate var partial: (any PartialResponse)?
        fileprivate var mayHaveActed = false
    }

    /// The request of the first caller.
    let request: HTTPRequest
    /// The context of the first caller. Errors of the flight name its request, and each member's error is renamed.
    let context: CallContext
    /// The parts that equal requests have in common; `nil` for a flight that no other request may join.
    let identity: RequestIdentity?
    private let clock: PipelineClock
    /// Changes the events of a download, which report its file; `nil` for any other kind.
    private let downloadEvents: DownloadEvents?
    private let state = Lock(State())

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
        downloadEvents = context.policies.download == nil ? nil : DownloadEvents()
    }

    // MARK: the start and the end

    /// Runs the flight in a separate task, with the task-local values of the first caller.
    func start(_ operation: @escaping @Sendable () async -> Void) {
        // Under the lock, which the task takes first: a caller who leaves meanwhile finds the task, and nothing is sent after that.
        state.withLock { state in
            guard state.stopError == nil else { return }
            state.task = Task { [self] in
                if let error = self.state.withLock({ $0.stopError }) {
                    finish(.failure(error))
                } else {
                    await operation()
                }
            }
        }
    }

    /// Ends the flight, and gives the members the outcome.
    /// - Returns: The outcome for the caller whose task runs the flight: the error of the stop, if the flight was stopped.
    @discardableResult
    func finish(_ outcome: Result<HTTPResponse, any Error>) -> Result<HTTPResponse, any Error> {
        let (members, error, _, _, _) = state.withLock { state in
            if !state.hasEnded && !state.isTimingOut { state.outcome = outcome }
            state.hasEnded = true
            return (state.members.takeAll(), state.stopError, state.task.take(), state.runner.take(), state.partial.take())
        }
        for member in members { member.waiter?.resume(outcome) }
        return error.map { .failure($0) } ?? outcome
    }

    /// Ends the flight for its members, although code of the application may still run for it. The task that runs it is canceled, and
    /// nobody waits for it.
    func abandon(_ error: any Error) {
        let (members, task, runner) = state.withLock { state in
            state.hasEnded = true
            state.stopError = state.stopError ?? error
            return (state.members.takeAll(), state.task, state.runner)
        }
        for member in members { member.fail(error) }
        task?.cancel()
        runner?.cancelTask()
    }

    /// True while a caller may join.
    var isOpen: Bool { state.withLock { !$0.hasEnded && !$0.isTimingOut } }

    /// The number of callers who have joined and not left.
    var callerCount: Int { state.withLock { $0.members.count } }

    // MARK: joining and leaving

    /// Adds a member.
    /// - Parameters:
    ///   - request: The caller's request.
    ///   - context: The caller's context.
    ///   - isRunner: True if the caller's task runs the flight, and so does not wait in it.
    ///   - exclusion: The reason for which the other members are excluded; `nil` to exclude none. Joining and excluding are one step: of
    ///     several callers who each exclude the others, the last to join stays.
    /// - Returns: The caller as a member; `nil` if the flight was left by all, or is about to time out for all.
    func join(_ request: HTTPRequest, in context: CallContext, isRunner: Bool = false, excludingOthers exclusion: String? = nil) -> Member?
    {
        let now = clock.elapsed()
        let timeouts = (toHead: request[FirstByteTimeout.self] ?? request.timeout, toEnd: request.timeout)
        typealias Joined = (
            member: Member, others: [Member], isLate: Bool, checks: [any WireExchange], end: Result<HTTPResponse, any Error>?
        )
        let joined: Joined? = state.withLock { state in
            if state.outcome == nil && (state.hasEnded || state.isTimingOut) { return nil }
            let isLate = state.eventCount > 0
            if isRunner { state.runner = context.call }
            if timeouts.toHead != timeouts.toEnd { state.hasTimeoutToHead = true }
            let others = exclusion == nil ? [] : state.members.takeAll()
            let member = state.members.join { id in
                Member(
                    id, of: self, context, isRunner: isRunner, timeouts: timeouts, joinedAt: now, isUpToDate: !isLate)
            }
            if state.outcome != nil { return (member, others, true, [], state.outcome) }
            // Of several checks, `nextCheck` is only the one that was planned last.
            let isEarlier =
                state.exchanges.count > 1 || state.nextCheck.map { now + min(timeouts.toHead, timeouts.toEnd).clampedForSleep < $0 } ?? false
            return (member, others, isLate, isEarlier ? state.exchanges : [], nil)
        }
        guard let joined else { return nil }
        if let exclusion { for other in joined.others { other.exclude(exclusion) } }
        context.call.setPartialResponse(self)
        if joined.isLate { bringUpToDate(joined.member) }
        if let end = joined.end {
            // After the events, which tell how many attempts there were.
            state.withLock { _ = $0.members.leave(joined.member.id) }
            joined.member.waiter?.resume(end)
        }
        for check in joined.checks { check.checkIdleness() }
        return joined.member
    }

    /// Removes a member: see `Member.leave(becauseOf:)`.
    private func leave(_ id: MemberID, becauseOf error: (any Error)? = nil) {
        let (member, task, runner, exchanges): (Member?, Task<Void, Never>?, Call?, [any WireExchange]) = state.withLock { state in
            guard let member = state.members.leave(id) else { return (nil, nil, nil, []) }
            guard state.members.isEmpty, !state.hasEnded else { return (member, nil, nil, []) }
            (state.hasEnded, state.stopError) = (true, error ?? CancellationError())
            return (member, state.task, state.runner, state.exchanges)
        }
        // Before the cancellation, which would otherwise end the runner's call as dropped. A waiter ends in any case: behind a loader that
        // ignores cancellation nothing else would end it.
        if let error { member?.fail(error) } else { member?.waiter?.resume(.failure(CancellationError())) }
        task?.cancel()
        runner?.cancelTask()
        for exchange in exchanges { exchange.stop(CancellationError()) }
    }

    /// Forgets the members of a flight that does not start. Otherwise the flight and its members would retain each other.
    func discard() {
        // The members are released outside the lock.
        _ = state.withLock { state in
            state.hasEnded = true
            return state.members.takeAll()
        }
    }

    /// Fails all members with `NessError.duplicate`, each with an error of its request. They then leave.
    func excludeMembers(becauseOf reason: String) {
        for member in state.withLock({ $0.members.elements }) { member.leave(becauseOf: member.duplicateError(reason)) }
    }

    // MARK: idleness

    /// True if a caller has another idle timeout once the head has arrived.
    var hasTimeoutToHead: Bool { state.withLock { $0.hasTimeoutToHead } }

    /// Fails the members whose idle timeout has passed. If it has passed for all of them, fails none: the flight itself has timed out.
    /// - Parameters:
    ///   - lastActivity: The time of the last byte in either direction, on the manager's clock.
    ///   - now: The current time, on the same clock.
    ///   - hasHead: True if the head of the response has arrived.
    /// - Returns: The verdict; `nil` for a flight without members, which is being stopped or has ended.
    func checkIdleness(since lastActivity: Duration, at now: Duration, hasHead: Bool) -> Idleness? {
        func timeout(of member: Member) -> Duration { hasHead ? member.timeouts.toEnd : member.timeouts.toHead }
        let (idle, next): ([Member], Duration?) = state.withLock { state in
            if state.members.isEmpty { return ([], nil) }
            if state.members.count == 1, let only = state.members.firstElement {
                let verdict = Idleness.check(since: max(lastActivity, only.joinedAt), timeout(of: only), at: now)
                guard case .again(let time) = verdict else {
                    (state.nextCheck, state.isTimingOut) = (nil, true)
                    return ([only], nil)
                }
                state.nextCheck = time
                return ([], time)
            }
            var idle: [Member] = []
            var next: Duration?
            for member in state.members.elements {
                switch Idleness.check(since: max(lastActivity, member.joinedAt), timeout(of: member), at: now) {
                case .tooLong: idle.append(member)
                case .again(let time): next = min(next ?? time, time)
                }
            }
            state.nextCheck = next
            state.isTimingOut = next == nil
            return (idle, next)
        }
        guard let next else { return idle.map(timeout).max().map { .tooLong($0) } }
        for member in idle {
            let context = member.context
            member.leave(becauseOf: context.idleError(after: timeout(of: member), response: context.call.responseSoFar))
        }
        return .again(at: next)
    }

    /// Adds a request on the wire.
    /// - Throws: The error with which the flight was stopped.
    func add(_ exchange: any WireExchange) throws {
        let error = state.withLock { state in
            if state.stopError == nil { state.exchanges.append(exchange) }
            return state.stopError
        }
        if let error { throw error }
    }

    /// Removes a request on the wire, which has ended.
    func remove(_ exchange: any WireExchange) {
        // The caller keeps the object alive, so it is not released under the lock.
        state.withLock { $0.exchanges.removeAll { $0 === exchange } }
    }

    /// True if a server may have acted on a request of the flight, such as a POST that led to a 303.
    var mayHaveActed: Bool { state.withLock { $0.mayHaveActed } }

    /// Notes that a server may have acted on a request.
    func noteAction() { state.withLock { $0.mayHaveActed = true } }

    /// Sets the source of the partial response, while a request is on the wire.
    func setPartialResponse(_ source: (any PartialResponse)?) {
        // The previous source is released outside the lock.
        _ = state.withLock { state in
            defer { state.partial = source }
            return state.partial
        }
    }
}

extension Flight: PartialResponse {
    var response: HTTPResponse? { state.withLock { $0.partial }?.response }
}

// MARK: events

extension Flight {
    /// Takes an event from the wire, and notifies every member.
    func report(_ event: ExchangeEvent) {
        guard let downloadEvents else { return share(event) }
        downloadEvents.pass(event) { [self] event in share(event) }
    }

    /// Sets the file whose progress a download reports.
    func reportProgress(of file: PartialFile) { downloadEvents?.setFile(file) }

    /// Reports that the file of a download is there already.
    func reportSavedFile(of length: Int64) { share(.received(length, of: length)) }

    private func share(_ event: ExchangeEvent) {
        // Most flights have one member, for whom no array has to be made.
        let (only, others): (Member?, [Member]) = state.withLock { state in
            state.events.keep(event)
            state.eventCount += 1
            guard state.members.count == 1 else { return (nil, state.members.elements.filter(\.isUpToDate)) }
            return (state.members.firstElement.flatMap { $0.isUpToDate ? $0 : nil }, [])
        }
        only?.report(event)
        for member in others { member.report(event) }
    }

    /// Notifies a late member of the events so far.
    private func bringUpToDate(_ member: Member) {
        var notifiedCount = 0
        var last = LatestEvents()
        // More events may arrive during each round.
        while true {
            let news: LatestEvents? = state.withLock { state in
                guard state.eventCount > notifiedCount else {
                    member.isUpToDate = true
                    return nil
                }
                notifiedCount = state.eventCount
                return state.events
            }
            guard let news else { return }
            for event in news.since(last) { member.report(event) }
            last = news
        }
    }
}

// MARK: the exchanges

/// An exchange on the wire, or in a queue before it.
protocol WireExchange: AnyObject, Sendable {
    /// Stops the request with an error.
    func stop(_ error: any Error)
    /// Checks the idle timeout, because a caller with an earlier one has joined.
    func checkIdleness()
}

/// The verdict on an idle flight.
enum Idleness: Sendable {
    /// The timeout of every caller has passed. The associated value is the longest of these timeouts.
    case tooLong(Duration)
    /// The timeout of some caller has not passed. It passes at the given time if no byte arrives or leaves.
    case again(at: Duration)

    /// Judges a flight with one timeout.
    static func check(since lastActivity: Duration, _ timeout: Duration, at now: Duration) -> Idleness {
        let end = lastActivity + timeout.clampedForSleep
        return end <= now ? .tooLong(timeout) : .again(at: end)
    }
}
