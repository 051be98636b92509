import NessPromise

/// One exchange that several callers share. It runs in a task of its own, and ends when the last caller leaves.
///
/// Each caller waits on its own and can leave without effect on the others. The exchange has a call of its own, so the timeout, secrets and
/// policies of the first caller do not apply to the others.
final class SharedExchange: LockedObject<SharedExchange.State>, @unchecked Sendable {
    /// A caller's place in the exchange.
    struct Share: Sendable {
        fileprivate let id: CallerID
        fileprivate let waiter: ValueWaiter<HTTPResponse>
        let exchange: SharedExchange

        /// Waits for the response. Cancellation of the task leaves the exchange.
        /// - Throws: The error of the exchange; the error of an exclusion; `CancellationError`.
        func wait() async throws -> HTTPResponse { try await waiter.wait() }

        /// Leaves the exchange. The wait ends with `CancellationError`.
        func leave() { waiter.cancel() }
    }

    fileprivate typealias CallerID = WaiterQueue<Caller>.ID

    /// A caller who has joined.
    fileprivate struct Caller: Sendable {
        let id: CallerID
        let waiter: ValueWaiter<HTTPResponse>
        let call: Call
        let activity: (any RequestActivity)?
        let timeout: Duration
        let joinedAt: Duration
        /// True once the caller knows the events so far. Until then `join` notifies it, and nothing else does: a newer event would otherwise
        /// overtake the older ones.
        var isUpToDate: Bool
    }

    /// The latest events of the exchange, to notify callers who join late.
    fileprivate struct Events: Sendable {
        /// The number of the exchange on the wire: of a redirect, for example.
        var number = 0
        var attempt: Int?
        var head: ReceivedHead?
        var connection: ConnectionMetrics?
        var sent: (Int64, Int64?)?
        var received: (Int64, Int64?)?
    }

    /// The end of an exchange, for a caller who joins just then.
    private struct End {
        let outcome: Result<HTTPResponse, any Error>
        let events: Events
    }

    /// The callers and the progress of an exchange.
    struct State: Sendable {
        /// In the order in which they joined. A queue, because any of many callers may leave.
        fileprivate var callers = WaiterQueue<Caller>()
        fileprivate var events = Events()
        /// The number of events so far.
        fileprivate var eventCount = 0
        /// The time of the next idle check; `nil` if none is planned.
        fileprivate var nextCheck: Duration?
        /// Plan the idle checks anew, for a caller whose timeout ends before `nextCheck`. One for each segment of a download.
        fileprivate var idleChecks: [any TimerTarget] = []
        /// True once the exchange has ended or was left by all.
        fileprivate var hasEnded = false
        /// True while the exchange is about to time out for all callers. A new caller may then not join, because it would share the failure.
        fileprivate var isTimingOut = false
        /// The outcome, for a caller who decided to join just before it came. `nil` for an exchange that ended without callers.
        fileprivate var outcome: Result<HTTPResponse, any Error>?
        fileprivate var task: Task<Void, Never>?
    }

    /// The exchange's own call.
    let call: Call
    private let clock: PipelineClock

    /// Makes an exchange without callers.
    /// - Parameters:
    ///   - request: The request of the first caller.
    ///   - first: The call of the first caller.
    ///   - clock: The clock for idle timeouts.
    init(_ request: HTTPRequest, for first: Call, clock: PipelineClock) {
        var choices = Call.Choices()
        choices.kind = first.choices.kind
        choices.environment = first.choices.environment
        choices.jsonDecoder = first.choices.jsonDecoder
        choices.epoch = first.choices.epoch
        choices.download = first.choices.download
        call = Call(request, choices, tracker: RequestTracker(clock, kind: choices.kind))
        self.clock = clock
        super.init(State())
    }

    // MARK: the start and the end

    /// Runs the exchange in a task of its own, which inherits the task-local values of no caller.
    /// - Parameter operation: Sends the request, and returns the outcome for the callers.
    func start(_ operation: @escaping @Sendable () async -> Result<HTTPResponse, any Error>) {
        let task = Task.startingNow { [self] in finish(await operation()) }
        let isLeft = withLock { state in
            state.task = task
            return state.hasEnded
        }
        if isLeft { task.cancel() }
    }

    private func finish(_ outcome: Result<HTTPResponse, any Error>) {
        let callers = withLock { state in
            if !state.hasEnded && !state.isTimingOut { state.outcome = outcome }
            state.hasEnded = true
            return state.callers.takeAll()
        }
        for caller in callers { caller.waiter.resume(outcome) }
    }

    /// True while a caller may join.
    var isOpen: Bool { withLock { !$0.hasEnded && !$0.isTimingOut } }

    /// The number of callers who have joined and not left.
    var callerCount: Int { withLock { $0.callers.count } }

    // MARK: joining and leaving

    /// Adds a caller.
    /// - Parameters:
    ///   - request: The caller's request.
    ///   - context: The caller's context.
    /// - Returns: The caller's share; `nil` if the exchange was left by all, or is about to time out for all.
    func join(_ request: HTTPRequest, in context: CallContext) -> Share? {
        context.call.setPartialResponse(call)
        let now = clock.elapsed()
        let joined: (share: Share, isLate: Bool, idleChecks: [any TimerTarget], end: End?)? = withLock { state in
            if state.outcome == nil && (state.hasEnded || state.isTimingOut) { return nil }
            let isLate = state.eventCount > 0
            let caller = state.callers.join { id in
                Caller(
                    id: id, waiter: ValueWaiter { [self] in leave(id) }, call: context.call, activity: context.activity,
                    timeout: request.timeout, joinedAt: now, isUpToDate: !isLate)
            }
            let share = Share(id: caller.id, waiter: caller.waiter, exchange: self)
            if let outcome = state.outcome {
                state.callers.leave(caller.id)
                return (share, false, [], End(outcome: outcome, events: state.events))
            }
            // Of several checks, `nextCheck` is only the one that was planned last.
            let isEarlier = state.idleChecks.count > 1 || state.nextCheck.map { now + request.timeout.clampedForSleep < $0 } ?? false
            return (share, isLate, isEarlier ? state.idleChecks : [], nil)
        }
        guard let joined else { return nil }
        if let end = joined.end {
            // Before the outcome, which tells how many attempts there were.
            notify(context.activity, of: end.events, after: Events())
            joined.share.waiter.resume(end.outcome)
        }
        if joined.isLate { bringUpToDate(joined.share.id, context.activity) }
        for check in joined.idleChecks { check.timerDidFire() }
        return joined.share
    }

    /// Removes a caller. The exchange ends with its last caller.
    private func leave(_ id: CallerID) {
        // The caller, and all that it holds, is released outside the lock.
        let (_, task, idleChecks): (Caller?, Task<Void, Never>?, [any TimerTarget]) = withLock { state in
            guard let caller = state.callers.leave(id) else { return (nil, nil, []) }
            guard state.callers.isEmpty else { return (caller, nil, []) }
            state.hasEnded = true
            return (caller, state.task, state.idleChecks)
        }
        task?.cancel()
        // Stops what the task has begun before its handle was known here.
        for check in idleChecks { check.timerDidFire() }
    }

    /// Forgets all callers of an exchange that does not start. Otherwise the exchange and its callers would retain each other.
    func discard() {
        // The callers are released outside the lock.
        _ = withLock { state in
            state.hasEnded = true
            return state.callers.takeAll()
        }
    }

    /// Fails callers, who then leave.
    /// - Parameters:
    ///   - remaining: The share that stays; `nil` to fail all callers.
    ///   - error: The error.
    func excludeCallers(except remaining: Share? = nil, becauseOf error: any Error) {
        for caller in withLock({ $0.callers.elements }) where caller.id != remaining?.id { exclude(caller, becauseOf: error) }
    }

    private func exclude(_ caller: Caller, becauseOf error: any Error) {
        leave(caller.id)
        caller.waiter.resume(.failure(error))
    }

    /// Notifies a late caller of the events so far.
    private func bringUpToDate(_ id: CallerID, _ listener: (any RequestActivity)?) {
        var notifiedCount = 0
        var last = Events()
        // More events may arrive during each round.
        while true {
            let news: Events? = withLock { state in
                guard state.eventCount > notifiedCount else {
                    state.callers.update(id) { $0.isUpToDate = true }
                    return nil
                }
                notifiedCount = state.eventCount
                return state.events
            }
            guard let news else { return }
            notify(listener, of: news, after: last)
            last = news
        }
    }

    private func notify(_ listener: (any RequestActivity)?, of known: Events, after last: Events) {
        guard let listener else { return }
        let isSame = known.number == last.number
        if !isSame, let attempt = known.attempt { listener.requestDidStart(attempt: attempt) }
        if let (bytes, total) = known.sent { listener.requestDidSend(bytes: bytes, of: total) }
        if let connection = known.connection, !isSame || last.connection == nil { listener.requestDidMeasure(connection) }
        if let head = known.head, !isSame || last.head == nil { listener.requestDidReceiveHead(head) }
        if let (bytes, total) = known.received { listener.requestDidReceive(bytes: bytes, of: total) }
    }
}

extension SharedExchange: IdleAudience {
    func judgeIdleness(since lastActivity: Duration, at now: Duration) -> Idleness {
        let (idle, next): ([Caller], Duration?) = withLock { state in
            var idle: [Caller] = []
            var next: Duration?
            for caller in state.callers.elements {
                switch Idleness.judge(since: max(lastActivity, caller.joinedAt), caller.timeout, at: now) {
                case .tooLong: idle.append(caller)
                case .again(let time): next = min(next ?? time, time)
                }
            }
            state.nextCheck = next
            state.isTimingOut = next == nil
            return (idle, next)
        }
        // Without callers nobody waits for the exchange.
        guard let next else { return .tooLong(idle.map(\.timeout).max() ?? .zero) }
        for caller in idle { exclude(caller, becauseOf: caller.call.idleError(after: caller.timeout)) }
        return .again(at: next)
    }

    func beginIdleCheck(_ check: any TimerTarget) { withLock { $0.idleChecks.append(check) } }

    func endIdleCheck(_ check: any TimerTarget) {
        // The caller keeps the object alive, so it is not released under the lock.
        withLock { $0.idleChecks.removeAll { $0 === check } }
    }
}

extension SharedExchange: RequestActivity {
    /// Stores an event, and notifies every caller and the exchange's own call.
    private func notify(_ change: (inout Events) -> Void, _ event: (any RequestActivity) -> Void) {
        // Most exchanges have one caller, for whom no array has to be made.
        let (only, all): ((any RequestActivity)?, [Caller]) = withLock { state in
            change(&state.events)
            state.eventCount += 1
            guard state.callers.count == 1, let caller = state.callers.firstElement else { return (nil, state.callers.elements) }
            return (caller.isUpToDate ? caller.activity : nil, [])
        }
        event(call.tracker)
        if let only { event(only) }
        for caller in all where caller.isUpToDate { if let activity = caller.activity { event(activity) } }
    }

    func requestDidStart(attempt: Int) {
        notify {
            $0 = Events(number: $0.number + 1, attempt: attempt)
        } _: {
            $0.requestDidStart(attempt: attempt)
        }
    }

    func requestDidSend(bytes: Int64, of total: Int64?) {
        notify {
            $0.sent = (bytes, total)
        } _: {
            $0.requestDidSend(bytes: bytes, of: total)
        }
    }

    func requestDidMeasure(_ connection: ConnectionMetrics) {
        notify {
            $0.connection = connection
        } _: {
            $0.requestDidMeasure(connection)
        }
    }

    func requestDidReceiveInterim(_ head: ReceivedHead) {
        // A caller who joins later does not get it: the server sends interim responses to save time.
        notify { _ in
        } _: {
            $0.requestDidReceiveInterim(head)
        }
    }

    func requestDidReceiveHead(_ head: ReceivedHead) {
        notify {
            $0.head = head
        } _: {
            $0.requestDidReceiveHead(head)
        }
    }

    func requestDidReceive(bytes: Int64, of total: Int64?) {
        notify {
            $0.received = (bytes, total)
        } _: {
            $0.requestDidReceive(bytes: bytes, of: total)
        }
    }
}
