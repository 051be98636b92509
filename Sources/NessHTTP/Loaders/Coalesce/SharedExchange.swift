import NessPromise

/// One exchange that any number of callers wait for.
///
/// Each caller has a promise of its own, a child of the exchange's: dropping one leaves the others, dropping the last drops the exchange.
/// The exchange runs for a call of its own. Nothing of the caller who began it, its timeout and its secrets say, holds for the others.
final class SharedExchange: Sendable {
    /// A caller who waits.
    private struct Caller: Sendable {
        let promise: Promise<HTTPResponse>
        let call: Call
        let activity: (any RequestActivity)?
        let timeout: Duration
        let joinedAt: Duration
    }

    /// The last events of the exchange, for those who come late.
    private struct Events: Sendable {
        var attempt: Int?
        var statusCode: Int?
        var sent: (Int64, Int64?)?
        var received: (Int64, Int64?)?
    }

    private struct State: Sendable {
        var nextNumber = 0
        var callers: [Int: Caller] = [:]
        var events = Events()
        /// When the watchdog will look next; nil while none is set.
        var nextLook: Duration?
        var look: (@Sendable () -> Void)?
        /// True once the exchange has been idle for too long for all callers: nobody who comes now may share its end.
        var isClosed = false
    }

    /// The response, which the callers' promises follow.
    let response: Promise<HTTPResponse>
    /// The call that the exchange runs for.
    let call: Call
    private let clock: Timekeeper
    private let state = Lock(State())

    /// Makes an exchange that nobody waits for yet.
    /// - Parameters:
    ///   - request: The request of the caller who begins it.
    ///   - first: That caller's call.
    ///   - clock: The clock of idle timeouts.
    init(_ request: HTTPRequest, for first: Call, clock: Timekeeper) {
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
    /// - Returns: The caller's promise, which fails with errors of the exchange's call; nil if the exchange is about to fail for those who
    ///   wait for it.
    func join(_ request: HTTPRequest, in context: CallContext) -> Promise<HTTPResponse>? {
        let promise = response.then(on: .immediate) { $0 }
        context.call.setPartialResponse(call)
        let now = clock.elapsed()
        let caller = Caller(
            promise: promise, call: context.call, activity: context.activity, timeout: request.timeout, joinedAt: now)
        // A caller who is notified of the exchange counts on a share in it, whatever the others do: the link comes first.
        let joined: (number: Int, known: Events, look: (@Sendable () -> Void)?)? = state.withLock { state in
            if state.isClosed { return nil }
            state.nextNumber += 1
            state.callers[state.nextNumber] = caller
            let isEarlier = state.nextLook.map { now + request.timeout.clampedForSleep < $0 } ?? false
            return (state.nextNumber, state.events, isEarlier ? state.look : nil)
        }
        guard let (number, known, look) = joined else {
            promise.drop()
            return nil
        }
        // The promise may have settled already.
        if !promise.onSettle({ [self] _ in leave(number) }) { leave(number) }
        notify(context.activity, of: known)
        look?()
        return promise
    }

    /// Notifies a late caller of how far the exchange is.
    /// - Parameters:
    ///   - listener: The caller's listener.
    ///   - known: The last events.
    private func notify(_ listener: (any RequestActivity)?, of known: Events) {
        guard let listener else { return }
        if let attempt = known.attempt { listener.requestDidStart(attempt: attempt) }
        if let (bytes, total) = known.sent { listener.requestDidSend(bytes: bytes, of: total) }
        if let statusCode = known.statusCode { listener.requestDidReceiveHead(statusCode: statusCode) }
        if let (bytes, total) = known.received { listener.requestDidReceive(bytes: bytes, of: total) }
    }

    private func leave(_ number: Int) {
        // What the caller holds is released outside the lock.
        _ = state.withLock { $0.callers.removeValue(forKey: number) }
    }

    /// True if a caller may still join.
    var isOpen: Bool { !response.isCompleted && state.withLock { !$0.isClosed } }

    /// The number of callers who wait.
    var callerCount: Int { state.withLock { $0.callers.count } }

    /// Fails every caller but one.
    func setAside(except kept: Promise<HTTPResponse>? = nil, becauseOf error: @autoclosure () -> any Error) {
        let waiting = state.withLock { $0.callers.sorted { $0.key < $1.key }.map(\.value.promise) }
        for promise in waiting where promise !== kept { promise.drop(becauseOf: error()) }
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
            state.nextLook = next
            state.isClosed = next == nil
            return (idle, next)
        }
        guard let next else { return .tooLong(idle.map(\.timeout).max() ?? .zero) }
        for caller in idle { caller.promise.drop(becauseOf: caller.call.idleError(after: caller.timeout)) }
        return .lookAgain(at: next)
    }

    func onEarlierTimeout(_ look: @escaping @Sendable () -> Void) { state.withLock { $0.look = look } }
}

extension SharedExchange: RequestActivity {
    /// Notes an event and notifies every caller, and the call that the exchange runs for.
    private func notify(_ change: @Sendable (inout Events) -> Void, _ event: (any RequestActivity) -> Void) {
        let listeners = state.withLock { state in
            change(&state.events)
            return state.callers.values.compactMap(\.activity)
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

/// Every caller of an exchange went away: one who comes just then begins anew.
struct SharedExchangeEnded: Error {}
