/// The state of a call.
///
/// A plain value that the lock of `Call` guards. Each event is a mutating function. It returns the effects (`CallState+Effects.swift`),
/// which `Call` carries out after it has released the lock.
struct CallState: Sendable {
    enum Phase: Sendable {
        /// New, running or paused; for a stream, until its body has arrived. `active` holds the references of this phase.
        case active
        /// The body of a stream has arrived, and its reader has not ended.
        case unread(HTTPResponse)
        /// Ended with a response or an error. A stream whose body has arrived ends with the outcome of its reader.
        case ended(Result<HTTPResponse, any Error>, isDrop: Bool)
    }

    /// The references that a call holds until its end.
    struct Active: Sendable {
        fileprivate(set) var result = PendingResult.none
        /// The task that makes the attempts; `nil` before the start, and for a call that is awaited.
        fileprivate(set) var task: Task<Void, Never>?
        fileprivate(set) var wait = Wait.none
        /// The flights beside that of `wait`: those that a loader has started meanwhile, and those of requests that loaders made.
        fileprivate(set) var others: [Flight.Member] = []
        /// The deadline while it runs, with its end on the manager's clock; `nil` without a deadline, and during a pause.
        fileprivate(set) var deadline: (timer: StartedTimer, end: Duration)?
        /// Fails the work that a stored response can replace; `nil` if the deadline ends the call itself: see `Call.untilDeadline(_:)`.
        fileprivate var abandon: (@Sendable (any Error) -> Void)?
        /// The manager's registry, and the call's number in it; `nil` before the start.
        fileprivate(set) var registration: (registry: RunningRequests, id: Int)?
        /// The job that the caller is attached to; `nil` before the first flight, and for a request other than a download.
        fileprivate(set) var job: DownloadJob?
        /// True if a pause has ended the call's part in its last flight, or kept the call from entering one.
        fileprivate(set) var isInterrupted = false
        /// The last attempt that failed and that another one may follow; `nil` for none.
        fileprivate(set) var lastFailure: Unaccepted?

        fileprivate mutating func change<Value>(_ body: (inout Self) -> Value) -> Value { body(&self) }
    }

    /// The receiver of the result.
    enum PendingResult: Sendable {
        /// Nobody waits for the call.
        case none
        /// The promise of the call, or the task that awaits it.
        case owner(any CallOwner)
        /// The promise has settled with the head of a stream. The reader takes the body.
        case reader(HTTPResponse)

        /// True if somebody reads the body of a stream, now or later.
        fileprivate var hasReader: Bool { if case .none = self { false } else { true } }
    }

    /// The wait that the call's task is in, or is about to start.
    enum Wait: Sendable {
        case none
        case flight(Flight.Member)
        /// The time before the next attempt, which a pause ends.
        case delay(Task<Void, any Error>)
        /// A pause, and the time that the deadline has left; `nil` without a deadline.
        case pause(Waiter, left: Duration?)
    }

    private(set) var phase = Phase.active
    /// Not `nil` exactly in the phase `active`. It is not the payload of that phase, because Swift changes only the payload of an optional
    /// in place. For any other enum, each event would copy all references out and back in.
    private(set) var active: Active? = Active()
    /// True if the call's task has not noticed the last pause.
    private(set) var hasNewPause = false
    /// The number of flights in which the caller's request waits, and the attempt to which the number belongs.
    private var shares = (attempt: 0, count: 0)
    var counts = CallCounts()
    /// The facts that the attempts have found out.
    var facts = AttemptFacts()

    var hasEnded: Bool { active == nil }

    var isPaused: Bool { if case .pause = active?.wait { true } else { false } }

    var isDropped: Bool { if case .ended(_, true) = phase { true } else { false } }

    /// The response that the call ended with; for a stream, the response whose body is being read.
    var response: HTTPResponse? {
        switch phase {
        case .active: if case .reader(let response) = active?.result { response } else { nil }
        case .unread(let response): response
        case .ended(let outcome, _): try? outcome.get()
        }
    }

    /// The error that the call ended with.
    var failure: (any Error)? { if case .ended(.failure(let error), _) = phase { error } else { nil } }

    /// True if the request has succeeded; `nil` until it has ended.
    var hasSucceeded: Bool? { hasEnded ? response != nil : nil }

    /// Changes what an active call holds. Does nothing after the end.
    private mutating func change<Value>(_ body: (inout Active) -> Value) -> Value? { active?.change(body) }

    /// An attempt has failed, and another one may follow.
    mutating func noteFailure(_ failure: Unaccepted) { _ = change { $0.lastFailure = failure } }

    // MARK: the start

    /// The call gets its owner.
    mutating func setOwner(_ owner: any CallOwner) { _ = change { $0.result = .owner(owner) } }

    /// Notes the call's registration with the manager, which keeps the call until its end.
    /// - Returns: False if the call has ended already.
    mutating func register(in registry: RunningRequests, as id: Int) -> Bool { change { $0.registration = (registry, id) } != nil }

    /// Notes the call's task. If the call has ended, cancels the task.
    mutating func start(_ task: Task<Void, Never>) { if change({ $0.task = task }) == nil { task.cancel() } }

    // MARK: the end

    /// The call ends. Only the first end counts.
    /// - Parameters:
    ///   - outcome: The response or the error.
    ///   - isDrop: True if the promise was dropped, or the stream by its reader.
    ///   - isStream: True if the body of a response is read after the end.
    mutating func end(with outcome: Result<HTTPResponse, any Error>, isDrop: Bool, isStream: Bool) -> End? {
        guard let held = active else { return nil }
        active = nil
        counts.end(with: try? outcome.get())
        var task = held.task
        if case .flight(let member) = held.wait, member.isRunner { task = nil }
        // The body of an error response is collected in memory before the promise settles, and read later. An owner therefore counts as a
        // reader.
        guard case .success(let response) = outcome, isStream, held.result.hasReader else {
            phase = .ended(outcome, isDrop: isDrop)
            return End(held: held, task: task, notifiesObservers: true)
        }
        phase = .unread(response)
        return End(held: held, task: task, notifiesObservers: false)
    }

    /// The reader of a stream has read enough, failed, or was dropped. Only its first end counts.
    mutating func endReading(with error: (any Error)?, isDrop: Bool) -> ReaderEnd? {
        func outcome(_ response: HTTPResponse) -> Result<HTTPResponse, any Error> { error.map { .failure($0) } ?? .success(response) }
        switch phase {
        case .active:
            guard case .reader(let response) = active?.result,
                let end = end(with: outcome(response), isDrop: isDrop, isStream: false)
            else { return nil }
            return .call(end, response)
        case .unread(let response):
            phase = .ended(outcome(response), isDrop: isDrop)
            return .observers(response)
        case .ended: return nil
        }
    }

    /// The head of a stream settles the promise.
    /// - Returns: The promise; `nil` if it has settled.
    mutating func settle(withHead response: HTTPResponse) -> (any CallOwner)? {
        change { active in
            guard case .owner(let owner) = active.result else { return nil }
            active.result = .reader(response)
            return owner
        } ?? nil
    }

    // MARK: the flight

    /// The caller's request is about to get a flight.
    /// - Returns: True for an extra request: a loader sends the request again while it still waits for the first response.
    mutating func beginShare(inAttempt attempt: Int) -> Bool {
        if shares.attempt != attempt { shares = (attempt, 0) }
        shares.count += 1
        return shares.count > 1
    }

    /// The caller's request has left its flight.
    mutating func endShare(inAttempt attempt: Int) { if shares.attempt == attempt { shares.count -= 1 } }

    /// The flight that the call waits in; `nil` for none.
    var flight: Flight? { if case .flight(let member) = active?.wait { member.flight } else { nil } }

    /// True if the call is a member of a flight.
    func isMember(of flight: Flight) -> Bool { self.flight === flight || active?.others.contains { $0.flight === flight } == true }

    /// The call has joined a flight for a request that a loader made.
    mutating func enter(other member: Flight.Member) { _ = change { $0.others.append(member) } }

    /// The call has joined a flight.
    /// - Returns: The job that the caller was attached to, for `detach()` outside the lock.
    /// - Throws: `CancellationError` after the end, `Call.Paused` during a pause. The member then has to leave the flight.
    mutating func enter(_ member: Flight.Member) throws -> DownloadJob? {
        if isPaused {
            _ = change { $0.isInterrupted = true }
            throw Call.Paused()
        }
        let earlier: DownloadJob?? = change { active in
            if case .flight = active.wait { active.others.append(member) } else { active.wait = .flight(member) }
            defer { active.job = member.flight.context.job }
            return active.job
        }
        guard let earlier else { throw CancellationError() }
        // This flight started after the pause, so the pause is no longer a reason to repeat the attempt.
        hasNewPause = false
        return earlier
    }

    /// The flight has ended, or the call has left it.
    /// - Parameters:
    ///   - member: The call as a member of the flight.
    ///   - isInterrupted: True if a pause has ended the call's part.
    /// - Throws: `CancellationError` after the end.
    mutating func leave(_ member: Flight.Member, isInterrupted: Bool = false) throws {
        let isActive: Void? = change { active in
            if let index = active.others.firstIndex(where: { $0 === member }) {
                active.others.remove(at: index)
                return
            }
            active.isInterrupted = isInterrupted
            if case .flight(let waiting) = active.wait, waiting === member { active.wait = .none }
        }
        if isActive == nil { throw CancellationError() }
    }

    // MARK: the deadline

    /// The end of the deadline, on the manager's clock; `nil` while it does not run.
    var deadlineEnd: Duration? { active?.deadline?.end }

    /// The deadline starts, or continues. During a pause it waits for the resume.
    /// - Returns: False if the timer is not needed.
    mutating func startDeadline(_ timer: StartedTimer, after time: Duration, end: Duration) -> Bool {
        change { active in
            if case .pause(let waiter, _) = active.wait {
                active.wait = .pause(waiter, left: time)
                return false
            }
            active.deadline = (timer, end)
            return true
        } ?? false
    }

    /// Sets the closure that fails replaceable work, at the start of the work. Clears it at the end, with `nil`.
    mutating func setAbandon(_ abandon: (@Sendable (any Error) -> Void)?) { _ = change { $0.abandon = abandon } }

    /// The deadline passes.
    /// - Returns: The effect. `nil` if the call was paused after the timer had fired: the deadline then waits for the resume.
    mutating func passDeadline() -> DeadlineEffect? {
        if isPaused { return nil }
        let abandon = change { $0.abandon.take() } ?? nil
        return abandon.map { .abandon($0) } ?? .end
    }

    /// Replaces the deadline's timer with the last one, after which the call ends.
    /// - Returns: False if the call has ended, or is paused.
    mutating func prolongDeadline(_ timer: StartedTimer) -> Bool {
        change { active in
            guard let end = active.deadline?.end else { return false }
            active.deadline = (timer, end)
            return true
        } ?? false
    }

    // MARK: the pause

    /// The call is paused.
    /// - Returns: The effects; `nil` for a call that is paused or has ended.
    mutating func pause(_ waiter: Waiter, at now: Duration) -> Pause? {
        if isPaused { return nil }
        let pause: Pause? = change { active in
            let deadline = active.deadline.take()
            defer { active.wait = .pause(waiter, left: deadline.map { $0.end - now }) }
            return Pause(wait: active.wait, others: active.others, deadlineTimer: deadline?.timer)
        }
        if pause != nil { hasNewPause = true }
        return pause
    }

    /// The call is resumed.
    /// - Returns: The wait to end, and the time that the deadline has left; `nil` for a call that is not paused.
    mutating func resume() -> (waiter: Waiter, timeLeft: Duration?)? {
        change { active in
            guard case .pause(let waiter, let left) = active.wait else { return nil }
            active.wait = .none
            return (waiter, left)
        } ?? nil
    }

    /// Reports a pause to the call's task.
    /// - Returns: True if the call was paused since the last time; and the wait for the resume, which is `nil` if the call is not paused
    ///   now.
    mutating func noticePause() -> (isNew: Bool, waiter: Waiter?) {
        defer { hasNewPause = false }
        if case .pause(let waiter, _) = active?.wait { return (hasNewPause, waiter) }
        return (hasNewPause, nil)
    }

    /// The wait before the next attempt starts.
    /// - Returns: False if the wait must end immediately, because the call was paused or has ended.
    mutating func startDelay(_ sleep: Task<Void, any Error>) -> Bool {
        if isPaused || hasNewPause { return false }
        return change { $0.wait = .delay(sleep) } != nil
    }

    mutating func endDelay() { _ = change { if case .delay = $0.wait { $0.wait = .none } } }
}
