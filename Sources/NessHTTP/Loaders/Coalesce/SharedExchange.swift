import NessPromise

/// One exchange that several callers share.
///
/// Each caller has a promise of its own, a child of the exchange's promise. Dropping one promise leaves the others alone. Dropping the last
/// one drops the exchange. The exchange has a call of its own, so the timeout, secrets and policies of the first caller do not apply to the
/// others.
final class SharedExchange: Sendable {
    /// A caller who has joined.
    private struct Caller: Sendable {
        let promise: Promise<HTTPResponse>
        let call: Call
        let activity: (any RequestActivity)?
        let timeout: Duration
        let joinedAt: Duration
        /// True once the caller knows the events so far. Until then `join` notifies it, and nothing else does: a newer event would otherwise
        /// overtake the older ones.
        var isUpToDate = false
    }

    /// The latest events of the exchange, to notify callers who join late.
    private struct Events: Sendable {
        var attempt: Int?
        var statusCode: Int?
        var connection: ConnectionMetrics?
        var sent: (Int64, Int64?)?
        var received: (Int64, Int64?)?
    }

    private struct State: Sendable {
        var nextNumber = 0
        var callers: [Int: Caller] = [:]
        var events = Events()
        /// The number of events so far.
        var eventCount = 0
        /// The time of the next idle check; `nil` if none is planned.
        var nextCheck: Duration?
        /// Plans the idle check anew, for a caller whose timeout ends before `nextCheck`.
        var planCheck: (@Sendable () -> Void)?
        /// True once the exchange has been idle for too long for all callers. A new caller may then not join, because it would share the
        /// failure.
        var isClosed = false
    }

    /// The promise that the callers' promises follow.
    let response: Promise<HTTPResponse>
    /// The exchange's own call.
    let call: Call
    private let clock: PipelineClock
    private let state = Lock(State())

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
        response = Promise(makeDropError: { SharedExchangeEnded() })
        self.clock = clock
    }

    /// Adds a caller.
    /// - Parameters:
    ///   - request: The caller's request.
    ///   - context: The caller's context.
    /// - Returns: The caller's promise, which fails with errors of the exchange's call; `nil` if the exchange is about to time out for all
    ///   callers.
    func join(_ request: HTTPRequest, in context: CallContext) -> Promise<HTTPResponse>? {
        let promise = response.then(on: .immediate) { $0 }
        context.call.setPartialResponse(call)
        let now = clock.elapsed()
        let caller = Caller(
            promise: promise, call: context.call, activity: context.activity, timeout: request.timeout, joinedAt: now)
        // The caller's promise is linked before the caller gets events. Otherwise the other callers could leave, and end an exchange of
        // which this caller had already seen events.
        let joined: (number: Int, planCheck: (@Sendable () -> Void)?)? = state.withLock { state in
            if state.isClosed { return nil }
            state.nextNumber += 1
            state.callers[state.nextNumber] = caller
            let isEarlier = state.nextCheck.map { now + request.timeout.clampedForSleep < $0 } ?? false
            return (state.nextNumber, isEarlier ? state.planCheck : nil)
        }
        guard let (number, planCheck) = joined else {
            promise.drop()
            return nil
        }
        // `onSettle` does nothing for a promise that has settled already.
        if !promise.onSettle({ [self] _ in leave(number) }) { leave(number) }
        bringUpToDate(number, context.activity)
        planCheck?()
        return promise
    }

    /// Notifies a late caller of the events so far.
    private func bringUpToDate(_ number: Int, _ listener: (any RequestActivity)?) {
        var notifiedCount = 0
        var last = Events()
        // More events may arrive during each round.
        while true {
            let news: Events? = state.withLock { state in
                guard state.eventCount > notifiedCount else {
                    state.callers[number]?.isUpToDate = true
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
        let isSameAttempt = known.attempt == last.attempt
        if !isSameAttempt, let attempt = known.attempt { listener.requestDidStart(attempt: attempt) }
        if let (bytes, total) = known.sent { listener.requestDidSend(bytes: bytes, of: total) }
        if let connection = known.connection, !isSameAttempt || last.connection == nil { listener.requestDidMeasure(connection) }
        if let statusCode = known.statusCode { listener.requestDidReceiveHead(statusCode: statusCode) }
        if let (bytes, total) = known.received { listener.requestDidReceive(bytes: bytes, of: total) }
    }

    private func leave(_ number: Int) {
        // The caller, and all that it holds, is released outside the lock.
        _ = state.withLock { $0.callers.removeValue(forKey: number) }
    }

    /// True while a caller may join.
    var isOpen: Bool { !response.isCompleted && state.withLock { !$0.isClosed } }

    /// The number of callers who have joined and not left.
    var callerCount: Int { state.withLock { $0.callers.count } }

    /// Fails the promises of all callers but one.
    /// - Parameters:
    ///   - remaining: The promise that stays; `nil` to fail all.
    ///   - error: Makes the error for each promise.
    func excludeCallers(except remaining: Promise<HTTPResponse>? = nil, becauseOf error: @autoclosure () -> any Error) {
        let waiting = state.withLock { $0.callers.sorted { $0.key < $1.key }.map(\.value.promise) }
        for promise in waiting where promise !== remaining { promise.drop(becauseOf: error()) }
    }
}

extension SharedExchange: IdleAudience {
    func judgeIdleness(since lastActivity: Duration, at now: Duration) -> Idleness {
        let (idle, next): ([Caller], Duration?) = state.withLock { state in
            var idle: [Caller] = []
            var next: Duration?
            for caller in state.callers.values {
                switch Idleness.judge(since: max(lastActivity, caller.joinedAt), caller.timeout, at: now) {
                case .tooLong: idle.append(caller)
                case .lookAgain(let time): next = min(next ?? time, time)
                }
            }
            state.nextCheck = next
            state.isClosed = next == nil
            return (idle, next)
        }
        guard let next else { return .tooLong(idle.map(\.timeout).max() ?? .zero) }
        for caller in idle { caller.promise.drop(becauseOf: caller.call.idleError(after: caller.timeout)) }
        return .lookAgain(at: next)
    }

    func onEarlierTimeout(_ look: @escaping @Sendable () -> Void) { state.withLock { $0.planCheck = look } }
}

extension SharedExchange: RequestActivity {
    /// Stores an event, and notifies every caller and the exchange's own call.
    private func notify(_ change: @Sendable (inout Events) -> Void, _ event: (any RequestActivity) -> Void) {
        let listeners = state.withLock { state in
            change(&state.events)
            state.eventCount += 1
            return state.callers.values.compactMap { $0.isUpToDate ? $0.activity : nil }
        }
        event(call.tracker)
        for listener in listeners { event(listener) }
    }

    func requestDidStart(attempt: Int) {
        notify {
            $0 = Events(attempt: attempt)
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

    func requestDidReceiveInterim(statusCode: Int, headers: HTTPHeaders) {
        // A caller who joins later does not get it: the server sends interim responses to save time.
        notify { _ in
        } _: {
            $0.requestDidReceiveInterim(statusCode: statusCode, headers: headers)
        }
    }

    func requestDidReceiveHead(statusCode: Int) {
        notify {
            $0.statusCode = statusCode
        } _: {
            $0.requestDidReceiveHead(statusCode: statusCode)
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

/// The error of an exchange that all callers have left. A caller who joined at that moment begins a new exchange.
struct SharedExchangeEnded: Error {}
