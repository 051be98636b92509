import Foundation
import NessLock

/// One request and its response on the wire. It occupies the slots of the limits, runs the idle timer, and stops the transport.
///
/// The request is stopped if no byte has moved in either direction for too long. The time in which a slow reader holds the server back does
/// not count. Bytes do not restart the timer. It fires at the earliest time at which the timeout can have passed, and starts again if bytes
/// have moved since.
final class Exchange: Sendable {
    let flight: Flight
    /// Takes the response's body as it arrives; `nil` to collect the body in memory.
    let sink: (any BodySink)?
    /// The number of bytes in the bodies of the redirects that led to the request. They count toward the size limit.
    let bytesBefore: Int
    /// The exchange as a member of its group; `nil` for none.
    let group: GroupMembership?
    /// Stores the cookies of the head; `nil` if they are stored once the response is complete.
    private let jar: CookieJar?
    private let limiters: (hosts: Limiter<ParsedURL.Origin>, total: Limiter<Int>?)
    private let clock: PipelineClock
    private let state = Lock(ExchangeState())

    init(
        _ flight: Flight, sink: (any BodySink)?, bytesBefore: Int, group: GroupMembership? = nil, jar: CookieJar?,
        _ hosts: Limiter<ParsedURL.Origin>, _ total: Limiter<Int>?, _ clock: PipelineClock
    ) {
        self.flight = flight
        self.sink = sink
        self.bytesBefore = bytesBefore
        self.group = group
        self.jar = jar
        limiters = (hosts, total)
        self.clock = clock
    }

    // MARK: the start and the end

    /// Occupies slots, until the exchange has ended and no connection uses them.
    func occupy(_ change: (inout ExchangeSlots.Lanes) -> Void) { state.withLock { change(&$0.slots.lanes) } }

    /// Gives back the slot among all requests of the manager. The host's slot was given back before, and the group's slots stay.
    func giveBackTotal() { if let total = state.withLock({ $0.slots.giveBack() }).total { limiters.total?.leave(total) } }

    /// Waits for a turn in a queue. A stop of the exchange ends the wait.
    /// - Throws: `CancellationError`. Without an error, the exchange has its turn and has to give it back, even if it was stopped
    ///   meanwhile.
    func wait(for waiter: Waiter) async throws {
        if !state.withLock({ $0.wait(for: waiter) }) { waiter.cancel() }
        defer { state.withLock { $0.endWait() } }
        try await waiter.wait()
    }

    /// Starts the idle timer, just before the request is sent.
    /// - Parameters:
    ///   - permit: The request as the circuit breaker counts it; `nil` without a breaker.
    ///   - connectTimeout: The longest time until a connection is ready; `nil` for no limit, or for one that starts later.
    /// - Throws: The error with which the exchange was stopped, because all callers have left.
    func begin(_ permit: CircuitPermit?, connectTimeout: Duration?) throws {
        let now = clock.elapsed()
        try state.withLock { try $0.begin(permit, connectTimeout: connectTimeout, at: now) }
        checkIdleness(at: now)
        try state.withLock { try $0.throwIfStopped() }
    }

    /// Starts the connect timeout of a request that application code has passed on.
    func beginConnecting(within limit: Duration?) {
        guard let limit else { return }
        let now = clock.elapsed()
        state.withLock { $0.idleness.beginConnecting(within: limit, at: now) }
        checkIdleness(at: now)
    }

    /// Ends the connect timeout: no connection is being made any more.
    func endConnecting() { state.withLock { $0.idleness.endConnecting(isReady: false) } }

    /// Ends the exchange. The slots become free when no connection uses them.
    @inline(never)
    func finish() {
        leaveFlight()
        releaseSlot()
    }

    /// Ends the exchange for its flight. Application code may still run, and keeps the slots.
    func leaveFlight() {
        flight.remove(self)
        let ended = state.withLock { $0.finish() }
        ended.timer?.cancel()
    }

    /// Reports to the circuit breaker, if there is one.
    func reportToBreaker(_ outcome: CircuitBreaker.Outcome) { state.withLock { $0.permit }?.end(outcome) }

    /// Reports an error to the circuit breaker. An error that says nothing about the server, such as a cancellation, counts as unknown.
    func reportToBreaker(_ error: any Error) { reportToBreaker((error as? NessError)?.isTransient == true ? .failed : .unknown) }

    // MARK: events

    /// Notes a request body that may keep the connection waiting. An idle timeout then blames the body, not the server.
    func watch(_ body: HTTPBody) { state.withLock { $0.body = body } }

    /// Passes an event on to the flight.
    func report(_ event: ExchangeEvent) {
        switch event {
        // No byte moves yet. The timeout runs from `begin`, even if a test advances its clock before this event.
        case .waits, .waited, .began, .waitsForNetwork, .connection, .ended: break
        // Reported before the first byte of a body is sent.
        case .sent(0, _): break
        // The bytes of an interim response count: a server sends a 102 to say that it is still working.
        case .sent, .interim, .received: touch()
        case .head(let head):
            touch(hasHead: true)
            jar?.store(from: head.headers, url: head.request.url)
            // From now on another timeout may apply.
            if flight.hasTimeoutToHead { checkIdleness() }
            // For a download or a stream, the head decides about the server's health. The end of the body may be hours away.
            if sink != nil, head.statusCode < 500 { reportToBreaker(.worked) }
        }
        flight.report(event)
    }

    /// Notes that bytes have moved.
    /// - Parameter hasHead: True if the head of the response has arrived with them.
    func touch(hasHead: Bool = false) {
        let now = clock.elapsed()
        state.withLock { $0.idleness.move(at: now, isHead: hasHead) }
    }

    /// Notes that the processing of received bytes has started or ended. Until it ends, the server is held back.
    func holdBack(_ isHeldBack: Bool) {
        let now = clock.elapsed()
        state.withLock { $0.idleness.read(isHeldBack, at: now) }
    }
}

extension Exchange: TimerTarget {
    func timerDidFire() { checkIdleness() }
}

extension Exchange {
    /// Checks the idle timeout, because time has passed, or a caller with an earlier one has joined.
    func checkIdleness() { checkIdleness(at: clock.elapsed()) }

    /// Stops the request if it has been idle for too long, and otherwise starts a timer for the next check. Checks may run concurrently.
    private func checkIdleness(at now: Duration) {
        guard let check = state.withLock({ $0.isRunning ? $0.idleness.startCheck(at: now) : nil }) else { return }
        var connectEnd = check.connectEnd
        if let end = connectEnd, end <= now {
            if stopConnecting() { return }
            connectEnd = nil
        }
        switch flight.checkIdleness(since: check.lastActivity, at: now, hasHead: check.hasHead) {
        case .tooLong(let timeout):
            let isAwaited = state.withLock { $0.body }?.isAwaited ?? false
            stop(flight.context.idleError(after: timeout, bodyIsAwaited: isAwaited, response: flight.response))
        case .again(let time):
            let timer = clock.startTimer(after: min(time, connectEnd ?? time) - now, for: self)
            let superfluous = state.withLock { $0.isRunning ? $0.idleness.plan(timer, ofCheck: check.number) : timer }
            superfluous?.cancel()
        case nil: break
        }
    }

    /// Stops the request because no connection was ready in time.
    /// - Returns: False if one has just become ready.
    private func stopConnecting() -> Bool {
        let error = flight.context.error(.cannotConnect, "no connection was ready after \(connectTimeout ?? .zero)")
        let (isLate, stop): (Bool, ExchangeState.Stop?) = state.withLock { state in
            state.idleness.connectEnd == nil ? (false, nil) : (true, state.stop(error))
        }
        if let stop { perform(stop, error) }
        return isLate
    }

    /// Stops the request with an error. Only the first stop counts.
    func stop(_ error: any Error) {
        if let stop = state.withLock({ $0.stop(error) }) { perform(stop, error) }
    }

    private func perform(_ stop: ExchangeState.Stop, _ error: any Error) {
        stop.end?(error)
        guard stop.abandonsFlight else { return }
        reportToBreaker(error)
        flight.abandon(error)
    }

    /// Notes that a loader has passed the request on.
    /// - Returns: False if the loader is still waiting for another response.
    func beginSending() -> Bool { state.withLock { $0.beginSending() } }

    func endSending() { state.withLock { $0.endSending() } }

    /// Notes that application code starts. It may ignore cancellation, so from now on a stop ends the flight without waiting for it.
    /// - Throws: The error with which the request was stopped.
    func beginApplicationCode() throws { try state.withLock { try $0.beginApplicationCode() } }
}

extension Exchange: ExchangeControl {
    var streamsResponse: Bool { sink != nil }
    var attempt: Int { flight.context.attempt }
    var baseURL: URL? { flight.context.options.environment.baseURL }

    func occupySlot() -> Bool {
        state.withLock { state in
            if state.isFinished { return false }
            state.slots.use()
            return true
        }
    }

    func releaseSlot() { giveBack(state.withLock { $0.slots.endUse() }) }

    private func giveBack(_ lanes: ExchangeSlots.Lanes?) {
        guard let lanes else { return }
        if let total = lanes.total { limiters.total?.leave(total) }
        if let host = lanes.host { limiters.hosts.leave(host) }
        group?.leave()
    }

    func waitsForNetwork() {
        let lanes: ExchangeSlots.Lanes? = state.withLock { state in
            if state.isFinished { return nil }
            state.idleness.waitForNetwork()
            return state.slots.giveBack()
        }
        giveBack(lanes)
        flight.report(.waitsForNetwork)
    }

    var connectTimeout: Duration? { state.withLock { $0.idleness.connectTimeout } }

    func didConnect() -> Bool {
        state.withLock { state in
            state.idleness.endConnecting(isReady: true)
            return state.isRunning
        }
    }

    func bytesDidMove() { touch() }

    func onStop(_ end: @escaping @Sendable (any Error) -> Void) {
        if let error = state.withLock({ $0.becomeStoppable(by: end) }) { end(error) }
    }
}
