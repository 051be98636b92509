import Foundation
import NessLock

/// One request and its response on the wire (RFC 9110): its slots in the limits, its idle timer, and the transport's hold on it.
///
/// The timer notes the time of the last byte in either direction, and stops the request when that was too long ago. The time in which a
/// slow reader holds the server back does not count. The next check is at the time when the timeout would pass if no byte moved until then.
final class Exchange: Sendable {
    /// The state of a request on the wire.
    struct State: Sendable {
        /// The time of the last event on the wire.
        fileprivate var lastActivity = Duration.zero
        /// True while a slow reader holds the server back.
        fileprivate var isHeldBack = false
        /// The body that is sent, if its bytes may have to be waited for.
        fileprivate var body: HTTPBody?
        fileprivate var hasHead = false
        /// True while the request waits for a network.
        fileprivate var isWaiting = false
        fileprivate var hasFinished = false
        /// The number of checks that have started.
        fileprivate var checkCount = 0
        fileprivate var timer: (number: Int, timer: StartedTimer)?
        /// Ends the request. `nil` while nothing runs that could be ended.
        fileprivate var end: (@Sendable (any Error) -> Void)?
        /// The error with which the request was stopped.
        fileprivate var stopError: (any Error)?
        /// True while code of the application runs, which may ignore a cancellation.
        fileprivate var runsApplicationCode = false
        /// The number of uses of the slots: requests and connections, which may outlive a caller.
        fileprivate var users = 1
        /// The slot of the host, and the one among all requests; `nil` for a request that bypasses the limit.
        fileprivate var host: Limiter<ParsedURL.Origin>.Lane?
        fileprivate var total: Limiter<Int>.Lane?
        /// The request as the circuit breaker counts it; `nil` without a breaker.
        fileprivate var permit: CircuitPermit?
    }

    let flight: Flight
    /// Takes the response's body as it arrives; `nil` to collect the body in memory.
    let sink: (any BodySink)?
    /// The number of bytes in the bodies of the redirects that led to the request. They count for the limit.
    let bytesBefore: Int
    /// Stores the cookies of the head; `nil` if they are stored once the response is complete.
    private let jar: CookieJar?
    private let limiters: (hosts: Limiter<ParsedURL.Origin>, total: Limiter<Int>?)
    private let clock: PipelineClock
    private let state = Lock(State())

    init(
        _ flight: Flight, sink: (any BodySink)?, bytesBefore: Int, jar: CookieJar?, _ hosts: Limiter<ParsedURL.Origin>,
        _ total: Limiter<Int>?,
        _ clock: PipelineClock
    ) {
        self.flight = flight
        self.sink = sink
        self.bytesBefore = bytesBefore
        self.jar = jar
        limiters = (hosts, total)
        self.clock = clock
    }

    /// Takes a slot of the host. The exchange gives it back when it has ended and no connection uses it.
    /// - Returns: The wait for the slot; `nil` if one was free, or if the request bypasses the limits.
    @inline(never)
    func waitForHostSlot(_ request: HTTPRequest) -> Waiter? {
        if request[BypassesThrottle.self] { return nil }
        let (lane, waiter) = limiters.hosts.enter(request.origin)
        state.withLock { $0.host = lane }
        return waiter
    }

    /// Takes a slot among all requests of the manager: see `waitForHostSlot(_:)`.
    @inline(never)
    func waitForManagerSlot(_ request: HTTPRequest) -> Waiter? {
        guard !request[BypassesThrottle.self], let (lane, waiter) = limiters.total?.enter(0) else { return nil }
        state.withLock { $0.total = lane }
        return waiter
    }

    /// Notes that the wait for the latest slot has failed.
    func forgetSlot() { state.withLock { state in if state.total != nil { state.total = nil } else { state.host = nil } } }

    /// Starts the idle timer, just before the request is sent.
    /// - Parameter permit: The request as the circuit breaker counts it; `nil` without a breaker.
    /// - Throws: `CancellationError` if all callers have left.
    func begin(_ permit: CircuitPermit?) throws {
        let now = clock.elapsed()
        state.withLock { ($0.permit, $0.lastActivity) = (permit, now) }
        try flight.add(self)
        checkIdleness(at: now)
        if let error = state.withLock({ $0.stopError }) { throw error }
    }

    /// Restarts the idle timer for a request that is sent again.
    /// - Throws: The error with which the request was stopped.
    func beginAgain() throws {
        let now = clock.elapsed()
        // The closure is released outside the lock.
        let (error, _) = state.withLock { state in
            defer { (state.lastActivity, state.hasHead, state.end) = (now, false, nil) }
            return (state.stopError, state.end)
        }
        if let error { throw error }
        checkIdleness(at: now)
    }

    /// Ends the watch, because the request has ended. The slots become free when no connection uses them.
    func finish() {
        flight.remove(self)
        // The closure is released outside the lock.
        let (timer, _, _) = state.withLock { state in
            defer { (state.timer, state.hasFinished, state.end, state.body) = (nil, true, nil, nil) }
            return (state.timer, state.end, state.body)
        }
        timer?.timer.cancel()
        releaseSlot()
    }

    /// Reports to the circuit breaker, if there is one.
    func reportToBreaker(_ outcome: CircuitBreaker.Outcome) { state.withLock { $0.permit }?.end(outcome) }

    /// Reports an error to the circuit breaker, and returns the error as the flight's first caller sees it.
    @inline(never)
    func explain(_ error: any Error) -> any Error {
        let explained = flight.context.explain(error)
        reportToBreaker((explained as? NessError)?.isTransient == true ? .failed : .unknown)
        return explained
    }

    // MARK: events

    /// Notes the body that is about to be sent, and that its bytes may have to be waited for.
    func watch(_ body: HTTPBody) { state.withLock { $0.body = body } }

    /// Passes an event on to the flight.
    func report(_ event: ExchangeEvent) {
        switch event {
        // No byte moves yet. The timeout runs from `begin`, even if a test advances its clock before this event.
        case .began, .waitsForNetwork, .connection: break
        // None, at the start of a request with a body.
        case .sent(0, _): break
        // The bytes of an interim response count: a server sends a 102 to say that it is still working.
        case .sent, .interim, .received: touch()
        case .head(let head):
            touch(hasHead: true)
            jar?.store(from: head.headers, url: head.request.url)
            // From now on another timeout may apply.
            if flight.hasTimeoutToHead { checkIdleness() }
            // For a download or a stream, the head decides. The end of the body may be hours away.
            if sink != nil, head.statusCode < 500 { reportToBreaker(.worked) }
        }
        flight.report(event)
    }

    /// Notes that bytes have moved.
    /// - Parameter hasHead: True if the head of the response has arrived with them.
    func touch(hasHead: Bool = false) {
        let now = clock.elapsed()
        state.withLock { state in
            (state.lastActivity, state.isWaiting) = (now, false)
            if hasHead { state.hasHead = true }
        }
    }

    /// Notes that the processing of received bytes has started or ended. Until it ends, the server is held back.
    func holdBack(_ isHeldBack: Bool) {
        let now = clock.elapsed()
        state.withLock { ($0.lastActivity, $0.isHeldBack) = (now, isHeldBack) }
    }
}

extension Exchange: TimerTarget {
    func timerDidFire() { checkIdleness() }
}

extension Exchange: WireExchange {
    func checkIdleness() { checkIdleness(at: clock.elapsed()) }

    /// Stops the request if it has been idle for too long, and otherwise starts a timer for the next check. Checks may run concurrently.
    private func checkIdleness(at now: Duration) {
        let (last, hasHead, number): (Duration, Bool, Int?) = state.withLock { state in
            state.checkCount += 1
            return (
                state.isHeldBack || state.isWaiting ? now : state.lastActivity, state.hasHead, state.hasFinished ? nil : state.checkCount
            )
        }
        guard let number else { return }
        switch flight.checkIdleness(since: last, at: now, hasHead: hasHead) {
        case .tooLong(let timeout):
            let isAwaited = state.withLock { $0.body }?.isAwaited ?? false
            stop(flight.context.idleError(after: timeout, bodyIsAwaited: isAwaited, response: flight.response))
        case .again(let time): startTimer(after: time - now, number)
        case nil: break
        }
    }

    /// Starts the timer of a check. The timer of the latest check stays: it includes the callers who joined last.
    private func startTimer(after delay: Duration, _ number: Int) {
        let timer = clock.startTimer(after: delay, for: self)
        let superfluous: StartedTimer? = state.withLock { state in
            if state.hasFinished || state.timer.map({ $0.number > number }) ?? false { return timer }
            defer { state.timer = (number, timer) }
            return state.timer?.timer
        }
        superfluous?.cancel()
    }

    func stop(_ error: any Error) {
        let (end, runsApplicationCode): ((@Sendable (any Error) -> Void)?, Bool) = state.withLock { state in
            if state.hasFinished || state.stopError != nil { return (nil, false) }
            state.stopError = error
            return (state.end, state.runsApplicationCode)
        }
        end?(error)
        guard runsApplicationCode else { return }
        reportToBreaker((error as? NessError)?.isTransient == true ? .failed : .unknown)
        flight.abandon(error)
    }

    /// Notes that code of the application starts, which may ignore a cancellation: a stop then ends the flight without it.
    /// - Throws: The error with which the request was stopped.
    func beginApplicationCode() throws {
        try state.withLock { state in
            if let error = state.stopError { throw error }
            state.runsApplicationCode = true
        }
    }
}

extension Exchange: ExchangeControl {
    var streamsResponse: Bool { sink != nil }
    var attempt: Int { flight.context.attempt }
    var baseURL: URL? { flight.context.policies.environment.baseURL }

    func occupySlot() -> Bool {
        state.withLock { state in
            if state.hasFinished { return false }
            state.users += 1
            return true
        }
    }

    func releaseSlot() {
        let (host, total): (Limiter<ParsedURL.Origin>.Lane?, Limiter<Int>.Lane?) = state.withLock { state in
            state.users -= 1
            return state.users == 0 ? (state.host, state.total) : (nil, nil)
        }
        leave(host, total)
    }

    private func leave(_ host: Limiter<ParsedURL.Origin>.Lane?, _ total: Limiter<Int>.Lane?) {
        if let total { limiters.total?.leave(total) }
        if let host { limiters.hosts.leave(host) }
    }

    func waitsForNetwork() {
        let (host, total): (Limiter<ParsedURL.Origin>.Lane?, Limiter<Int>.Lane?) = state.withLock { state in
            if state.hasFinished { return (nil, nil) }
            defer { (state.isWaiting, state.host, state.total) = (true, nil, nil) }
            return (state.host, state.total)
        }
        leave(host, total)
        flight.report(.waitsForNetwork)
    }

    func bytesDidMove() { touch() }

    func onStop(_ end: @escaping @Sendable (any Error) -> Void) {
        let error = state.withLock { state in
            if state.end == nil, !state.hasFinished { state.end = end }
            return state.stopError
        }
        if let error { end(error) }
    }
}
