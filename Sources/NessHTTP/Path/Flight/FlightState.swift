/// The state of a flight.
///
/// A plain value that the lock of `Flight` guards. Each event is a mutating function. It returns the effects, which `Flight` carries out
/// after it has released the lock.
struct FlightState: Sendable {
    typealias Member = Flight.Member
    typealias Outcome = Result<HTTPResponse, any Error>

    enum Phase: Sendable {
        /// Callers may join.
        case open
        /// About to time out for all members. A caller who joined now would share the failure.
        case timingOut
        /// Left by the last member, or abandoned. The outcome is now this error, regardless of the step that notices the stop first.
        case stopped(any Error)
        /// Finished. The outcome is for a caller who decided to join just before; `nil` if it must not be shared.
        case finished(Outcome?)
    }

    private(set) var phase = Phase.open
    /// The task that runs the flight: a separate task, or that of a call. `nil` before the start, and for a call that is awaited.
    private var driver: Task<Void, Never>?
    /// In the order in which they joined. A queue, because any of many callers may leave.
    private(set) var members = WaiterQueue<Member>()
    /// The members that are still receiving the events from before they joined. `report(_:)` leaves them out, so that no newer event
    /// overtakes the older ones. A member who leaves meanwhile stays here until it has received them.
    private var behind: [Member] = []
    private var events = LatestEvents()
    /// The number of events so far.
    private(set) var eventCount = 0
    /// The time of the idle check that was planned last; `nil` if none was.
    private var nextCheck: Duration?
    /// True if the idle timeout of any caller so far changes when the head arrives.
    private(set) var hasTimeoutToHead = false
    /// The exchanges: several for a download in segments.
    private var exchanges: [Exchange] = []
    /// The collector of the current exchange's response.
    private(set) var partial: ResponseCollector?
    /// True if a server may have acted on a request of the flight, such as a POST that led to a 303.
    private(set) var mayHaveActed = false

    var isOpen: Bool { if case .open = phase { true } else { false } }

    /// The error with which the flight was stopped.
    var stopError: (any Error)? { if case .stopped(let error) = phase { error } else { nil } }

    // MARK: the start and the end

    /// The flight gets its own task.
    /// - Returns: False if all callers have left it. It then has no task.
    mutating func start(_ makeTask: () -> Task<Void, Never>) -> Bool {
        guard isOpen else { return false }
        driver = makeTask()
        return true
    }

    /// The effects of an end, and what is released outside the lock.
    struct End: Sendable {
        let members: [Member]
        /// The outcome for the caller whose task runs the flight.
        let outcome: Outcome
        fileprivate let released: (driver: Task<Void, Never>?, partial: ResponseCollector?, behind: [Member])
    }

    /// The flight has an outcome.
    mutating func finish(_ outcome: Outcome) -> End {
        defer { (driver, partial, behind) = (nil, nil, []) }
        let stopError = stopError
        phase = .finished(isOpen ? outcome : nil)
        return End(
            members: members.takeAll(), outcome: stopError.map { .failure($0) } ?? outcome, released: (driver, partial, behind))
    }

    /// The effects of a stop.
    struct Stop: Sendable {
        let members: [Member]
        let driver: Task<Void, Never>?
        let exchanges: [Exchange]
    }

    /// The members no longer wait, although code of the application may still run.
    mutating func abandon(_ error: any Error) -> Stop {
        switch phase {
        case .open, .timingOut: phase = .stopped(error)
        case .stopped, .finished: break
        }
        // The exchange that abandons the flight has been stopped already. The cancellation of the driver reaches all others.
        return Stop(members: members.takeAll(), driver: driver, exchanges: [])
    }

    /// The flight does not start.
    /// - Returns: The members, which are released outside the lock.
    mutating func discard() -> [Member] {
        phase = .finished(nil)
        return members.takeAll()
    }

    // MARK: joining and leaving

    /// The fate of a caller who wants to join.
    enum Join: Sendable {
        /// The caller is a member now, and `excluded` have left. The idleness of `checked` has to be checked, because the new member's
        /// timeout may be earlier.
        case joined(Member, isLate: Bool, excluded: [Member], checked: [Exchange])
        /// The flight has just finished: the caller gets the outcome.
        case late(Member, Outcome)
        /// The flight was left by all, abandoned or discarded, is about to time out for all, or has an outcome that is not shared.
        case tooLate
    }

    /// A caller wants to join.
    /// - Parameters:
    ///   - driver: The caller's task, if it runs the flight; `nil` if the caller waits for the flight, or awaits the call.
    ///   - timeouts: The caller's idle timeouts.
    ///   - now: The current time, on the manager's clock.
    ///   - excludesOthers: True if the other members are excluded.
    ///   - makeMember: Makes the member.
    mutating func join(
        drivenBy driver: Task<Void, Never>?, timeouts: Member.Timeouts, at now: Duration, excludingOthers excludesOthers: Bool,
        making makeMember: (WaiterQueue<Member>.ID) -> Member
    ) -> Join {
        switch phase {
        case .timingOut, .stopped, .finished(nil): return .tooLate
        case .finished(let outcome?):
            // `members` stays empty, so this identifier finds nothing there.
            var late = WaiterQueue<Member>()
            return .late(late.join(makeMember), outcome)
        case .open: break
        }
        if let driver { self.driver = driver }
        if timeouts.toHead != timeouts.toEnd { hasTimeoutToHead = true }
        let excluded = excludesOthers ? members.takeAll() : []
        let member = members.join(makeMember), isLate = eventCount > 0
        if isLate { behind.append(member) }
        // With several exchanges, each has planned a check, and `nextCheck` is only the last of these. All are checked then.
        let isEarlier = exchanges.count > 1 || nextCheck.map { now + timeouts.earlier < $0 } ?? false
        return .joined(member, isLate: isLate, excluded: excluded, checked: isEarlier ? exchanges : [])
    }

    /// A member leaves.
    /// - Returns: The member, and the stop of the flight if it was the last one; `nil` if it had left before.
    mutating func leave(_ id: WaiterQueue<Member>.ID, becauseOf error: any Error) -> (member: Member, stop: Stop?)? {
        guard let member = members.leave(id) else { return nil }
        guard members.isEmpty else { return (member, nil) }
        // The phase was `open` or `timingOut`: in any other, there are no members.
        phase = .stopped(error)
        return (member, Stop(members: [], driver: driver, exchanges: exchanges))
    }

    // MARK: the exchanges

    /// An exchange starts.
    /// - Throws: The error with which the flight was stopped.
    mutating func add(_ exchange: Exchange) throws {
        if let stopError { throw stopError }
        exchanges.append(exchange)
    }

    mutating func remove(_ exchange: Exchange) { exchanges.removeAll { $0 === exchange } }

    mutating func noteAction() { mayHaveActed = true }

    /// Another partial response takes the place of the last one, which is released outside the lock.
    mutating func setPartial(_ collector: ResponseCollector?) -> ResponseCollector? {
        defer { partial = collector }
        return partial
    }

    /// No byte has moved for a while.
    /// - Returns: The members whose timeout has passed, each with its timeout; and the time of the next check. The time is `nil` if the
    ///   timeout has passed for every member. The members then stay, because the flight itself times out.
    mutating func checkIdleness(
        since lastActivity: Duration, at now: Duration, hasHead: Bool
    ) -> (idle: [(member: Member, timeout: Duration)], next: Duration?) {
        var idle: [(member: Member, timeout: Duration)] = []
        var next: Duration?
        func check(_ member: Member) {
            let timeout = hasHead ? member.timeouts.toEnd : member.timeouts.toHead
            let end = max(lastActivity, member.joinedAt) + timeout.clampedForSleep
            if end <= now { idle.append((member, timeout)) } else { next = min(next ?? end, end) }
        }
        // Most flights have one member, for whom no array has to be made.
        if members.count == 1, let only = members.firstElement { check(only) } else { members.elements.forEach(check) }
        nextCheck = next
        if next == nil, !idle.isEmpty, isOpen { phase = .timingOut }
        return (idle, next)
    }

    // MARK: events

    /// An event comes from the wire.
    /// - Returns: The members to notify. Most flights have one, for whom no array has to be made.
    mutating func report(_ event: ExchangeEvent) -> (only: Member?, others: [Member]) {
        events.keep(event)
        eventCount += 1
        if members.count == 1, behind.isEmpty { return (members.firstElement, []) }
        return (nil, members.elements.filter { member in !behind.contains { $0 === member } })
    }

    /// An exchange has ended.
    mutating func keepEnd(of exchange: RequestExchange.ID, _ outcome: Outcome) { events.keepEnd(of: exchange, outcome) }

    /// The ends of all that has not ended, for a member who leaves.
    func ends(with error: any Error) -> [ExchangeEvent] { events.ends(with: error) }

    /// Continues to bring a late member up to date.
    /// - Parameter count: The number of events when the member was last notified.
    /// - Returns: The latest events; `nil` if the member has received them all. From now on `report(_:)` includes it.
    mutating func news(after count: Int, for member: Member) -> LatestEvents? {
        if eventCount > count { return events }
        behind.removeAll { $0 === member }
        return nil
    }
}
