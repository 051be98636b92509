/// The state of an exchange.
///
/// A plain value without tasks, which the lock of `Exchange` guards. Each event is a mutating function. It returns the effects, which
/// `Exchange` carries out after it has released the lock.
struct ExchangeState: Sendable {
    /// Ends the running operation immediately, with an error.
    typealias End = @Sendable (any Error) -> Void

    enum Phase: Sendable {
        /// In a queue, with the wait for its turn; `nil` between two queues.
        case queued(Waiter?)
        case running(Running)
        /// Stopped with an error. What ran may not have noticed yet.
        case stopped(any Error)
        case finished
    }

    /// The means to stop an exchange that runs.
    struct Running: Sendable {
        /// The closure that ends the running operation; `nil` while there is nothing to end.
        var end: End?
        /// True once application code has started, which may ignore the end.
        var abandonsFlight = false
    }

    /// The effects of a stop.
    struct Stop: Sendable {
        let end: End?
        /// True if the callers must not wait for what ran.
        let abandonsFlight: Bool
    }

    private(set) var phase = Phase.queued(nil)
    var idleness = IdleClock()
    var slots = ExchangeSlots()
    /// The exchange as the circuit breaker counts it; `nil` without a breaker.
    private(set) var permit: CircuitPermit?
    /// The request's body, if the connection may have to wait for its bytes.
    var body: HTTPBody?
    /// The number of requests that loaders have passed on and wait for.
    private var sending = 0

    var isFinished: Bool { if case .finished = phase { true } else { false } }

    /// True from the start of the idle timer until a stop or the end.
    var isRunning: Bool { if case .running = phase { true } else { false } }

    /// Throws the error with which the exchange was stopped.
    func throwIfStopped() throws {
        if case .stopped(let error) = phase { throw error }
    }

    /// The exchange waits for its turn in a queue.
    /// - Returns: False if it was stopped before. The wait then has to end.
    mutating func wait(for waiter: Waiter) -> Bool {
        guard case .queued = phase else { return false }
        phase = .queued(waiter)
        return true
    }

    /// The wait for a turn has ended.
    mutating func endWait() { if case .queued = phase { phase = .queued(nil) } }

    /// The exchange leaves the queues, and is about to be sent.
    mutating func begin(_ permit: CircuitPermit?, connectTimeout: Duration?, at now: Duration) throws {
        self.permit = permit
        try throwIfStopped()
        phase = .running(Running())
        idleness.begin(at: now)
        idleness.beginConnecting(within: connectTimeout, at: now)
    }

    /// Code of the application starts.
    mutating func beginApplicationCode() throws {
        try throwIfStopped()
        if case .running(let running) = phase { phase = .running(Running(end: running.end, abandonsFlight: true)) }
    }

    /// A loader passes the request on.
    /// - Returns: False if the loader is still waiting for another response.
    mutating func beginSending() -> Bool {
        sending += 1
        return sending == 1
    }

    mutating func endSending() { sending -= 1 }

    /// Sets the closure that ends the running operation. The first closure stays.
    /// - Returns: The error with which to end the operation immediately; `nil` if it may run.
    mutating func becomeStoppable(by end: @escaping End) -> (any Error)? {
        switch phase {
        case .running(let running):
            if running.end == nil { phase = .running(Running(end: end, abandonsFlight: running.abandonsFlight)) }
            return nil
        case .stopped(let error): return error
        case .queued, .finished: return nil
        }
    }

    /// The exchange is stopped. Only the first stop counts, and none after the end.
    mutating func stop(_ error: any Error) -> Stop? {
        switch phase {
        case .queued(let waiter):
            phase = .stopped(error)
            guard let waiter else { return Stop(end: nil, abandonsFlight: false) }
            return Stop(end: { _ in waiter.cancel() }, abandonsFlight: false)
        case .running(let running):
            phase = .stopped(error)
            return Stop(end: running.end, abandonsFlight: running.abandonsFlight)
        case .stopped, .finished: return nil
        }
    }

    /// The exchange has ended.
    /// - Returns: The parts that are released or canceled outside the lock.
    mutating func finish() -> (phase: Phase, body: HTTPBody?, timer: StartedTimer?) {
        defer { (phase, body) = (.finished, nil) }
        return (phase, body, idleness.timer)
    }
}

/// The time since the last byte in either direction, and the check that is planned.
struct IdleClock: Sendable {
    /// The reason for a silence that is not the server's fault.
    enum Hold: Sendable { case none, reader, network }

    /// The longest time until a connection is ready; `nil` for no limit.
    private(set) var connectTimeout: Duration?
    /// The time at which a connection has to be ready; `nil` once one is, and without a limit.
    private(set) var connectEnd: Duration?
    /// True once a connection was ready. The server may then have the request, even if another connection fails.
    private var hasConnected = false
    private var lastActivity = Duration.zero
    private(set) var hold = Hold.none
    /// True once the head of the response has arrived.
    private(set) var hasHead = false
    /// The number of checks that have started.
    private(set) var checkCount = 0
    private var planned: PlannedCheck?

    /// The timer of the planned check; `nil` if none was planned.
    fileprivate var timer: StartedTimer? { planned?.timer }

    /// A check that a timer will start.
    struct PlannedCheck: Sendable {
        let number: Int
        let timer: StartedTimer
    }

    /// The time starts, with no head.
    mutating func begin(at now: Duration) { (lastActivity, hasHead) = (now, false) }

    /// Starts the connect timeout, unless it runs already or a connection was ready before.
    mutating func beginConnecting(within limit: Duration?, at now: Duration) {
        guard let limit, connectEnd == nil, !hasConnected else { return }
        (connectTimeout, connectEnd) = (limit, now + limit.clampedForSleep)
    }

    /// No connection is being made: one is ready, or the attempt has ended.
    mutating func endConnecting(isReady: Bool) {
        connectEnd = nil
        if isReady { hasConnected = true }
    }

    /// Bytes have moved.
    mutating func move(at now: Duration, isHead: Bool) {
        lastActivity = now
        if hold == .network { hold = .none }
        if isHead { hasHead = true }
    }

    /// A reader starts or ends its work on received bytes. Until it ends, the server is held back.
    mutating func read(_ isReading: Bool, at now: Duration) { (lastActivity, hold) = (now, isReading ? .reader : .none) }

    /// The request waits for a network, until bytes move.
    mutating func waitForNetwork() { hold = .network }

    /// A check that runs.
    struct Check: Sendable {
        /// The time from which the silence counts.
        let lastActivity: Duration
        let number: Int
        let hasHead: Bool
        let connectEnd: Duration?
    }

    /// A check starts.
    mutating func startCheck(at now: Duration) -> Check {
        checkCount += 1
        return Check(lastActivity: hold == .none ? lastActivity : now, number: checkCount, hasHead: hasHead, connectEnd: connectEnd)
    }

    /// Keeps the timer of the latest check, which has taken the callers who joined last into account.
    /// - Returns: The timer that is not needed.
    mutating func plan(_ started: StartedTimer, ofCheck number: Int) -> StartedTimer? {
        if let planned, planned.number > number { return started }
        defer { planned = PlannedCheck(number: number, timer: started) }
        return planned?.timer
    }
}

/// The slots that an exchange occupies: of its host and of the manager. Counts who uses them. `GroupMembership` has those of its group.
struct ExchangeSlots: Sendable {
    typealias Lanes = (host: Limiter<ParsedURL.Origin>.Lane?, total: Limiter<Int>.Lane?)

    /// `nil` for an exchange that bypasses the limits, and once the slots were given back.
    var lanes: Lanes = (nil, nil)
    /// The number of users: the exchange, and its connections, which may outlive it.
    private var users = 1

    /// A connection uses the slots.
    mutating func use() { users += 1 }

    /// A user has ended.
    /// - Returns: The slots to give back; `nil` if the exchange or a connection still uses them.
    mutating func endUse() -> Lanes? {
        users -= 1
        return users == 0 ? giveBack() : nil
    }

    /// Gives the slots back, once.
    mutating func giveBack() -> Lanes {
        defer { lanes = (nil, nil) }
        return lanes
    }
}
