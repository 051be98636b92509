import Foundation
import NessLock
import NessPromise

/// One request of a caller, from its start to its end, with all attempts: the request, the caller's options, and the state.
///
/// A call ends in `end(with:isDrop:)`, regardless of the cause: a drop, the deadline, a reset, the error of a listener, or the outcome of
/// the attempts. There the promise settles, and the observers are notified once. Only the reader of a stream ends its call elsewhere, in
/// `endReading(with:isDrop:)`. Nothing waits for the call's task, so a loader that ignores cancellation delays nobody.
///
/// The call is internal: loaders and observers see only `HTTPRequest`.
final class Call: Sendable {
    /// The request as the caller made it. Errors name it.
    let request: HTTPRequest
    /// The caller's options. Boxed, because every step of a request passes them on.
    let boxedOptions: CopyOnWriteBox<CallOptions>
    /// True if the call can be paused. Stored here, because an async function that reads `options` has room for all of
    /// them.
    let isPausable: Bool
    /// The mistake of the caller that keeps the request from being made; `nil` for a valid request.
    let fault: (any Error)?
    /// The manager's clock.
    let clock: PipelineClock
    /// Notifies the observers, and measures the call; `nil` if there are no observers.
    let observation: Observation?
    let state = Lock(CallState())

    /// Makes a call.
    /// - Parameters:
    ///   - request: The request, or the error that keeps it from being made.
    ///   - options: The caller's options.
    ///   - observers: The manager's observers and the request's own.
    ///   - clock: The manager's clock.
    init(
        _ request: __owned Result<HTTPRequest, any Error>, _ options: __owned CallOptions, observers: [any RequestObserver] = [],
        clock: PipelineClock
    ) {
        switch request {
        case .success(let request): (self.request, fault) = (request, nil)
        case .failure(let error): (self.request, fault) = (Self.placeholder, error)
        }
        if observers.isEmpty || fault != nil {
            observation = nil
        } else {
            observation = Observation(observers, of: self.request, isDownload: options.kind == .download, clock: clock)
        }
        isPausable = options.kind.isPausable
        boxedOptions = CopyOnWriteBox(options)
        self.clock = clock
    }

    /// Stands for a request that could not be made. Nothing shows or sends it.
    private static let placeholder = HTTPRequest(url: URL(fileURLWithPath: "/"))

    var options: CallOptions { boxedOptions.fields }

    // MARK: the start

    /// Starts the call: makes the task that sends the request.
    /// - Parameters:
    ///   - owner: The promise of the call, which is retained until the call ends.
    ///   - running: The manager's registry, which keeps the call until it ends.
    ///   - send: Makes the attempts, and returns the response.
    func start(
        for owner: (any CallOwner)?, in running: RunningRequests, _ send: @escaping @Sendable (Call) async throws -> HTTPResponse
    ) {
        register(owner, in: running)
        runInTask(send)
    }

    /// The rest of a call, which a new task runs after a delay. A task keeps the memory of its deepest call stack until it ends. A long wait
    /// is therefore cheaper in a task that has not made a request yet.
    struct Postponed: Error {
        let delay: Duration
        let rest: @Sendable () async throws -> HTTPResponse
    }

    private func runInTask(after delay: Duration = .zero, _ send: @escaping @Sendable (Call) async throws -> HTTPResponse) {
        // The task is made under the lock, which `begin(in:)` takes as well. A drop at this moment therefore finds the task, and nothing is
        // sent after the drop. `send` runs even then, because it may have promised to call a closure.
        state.withLock { state in
            state.start(
                Task { [self] in
                    // Before `run`, whose frame would lie beside the wait.
                    do { if delay > .zero { try await wait(delay) } } catch { return end(with: .failure(error)) }
                    await run(send)
                })
        }
    }

    /// Gives the call its owner, and registers it with the manager, as the first step of its start.
    func register(_ owner: (any CallOwner)?, in running: RunningRequests) {
        if let owner { state.withLock { $0.setOwner(owner) } }
        let id = running.add(self)
        if !state.withLock({ $0.register(in: running, as: id) }) { running.remove(id) }
    }

    /// Makes the attempts of a registered call in the calling task, and ends the call. If another task has to make the rest, starts that
    /// task.
    func run(_ send: @escaping @Sendable (Call) async throws -> HTTPResponse) async {
        do {
            end(with: .success(try await send(self)))
        } catch let postponed as Postponed {
            // Keeps `send` alive, because it retains the manager.
            runInTask(after: postponed.delay) { _ in
                defer { withExtendedLifetime(send) {} }
                return try await postponed.rest()
            }
        } catch {
            end(with: .failure(error))
        }
    }

    /// Starts the call in its task: checks that it may start, notifies the observers, and starts the deadline.
    func begin(in running: RunningRequests) throws {
        if let fault { throw fault }
        if hasEnded { throw CancellationError() }
        try Task.checkCancellation()
        if let reason = running.refusal(of: options.epoch) { throw error(.dropped, reason) }
        observation?.begin()
        guard let deadline = request.deadline else { return }
        guard deadline > .zero else {
            if let shared = request[SharedDeadline.self] { throw error(.timedOut, "the deadline of \(shared) has passed") }
            throw error(.invalidRequest, "the deadline is not positive")
        }
        startDeadline(after: deadline)
    }

    /// The task that makes the attempts; `nil` before the start, after the end, and for a call that is awaited.
    var task: Task<Void, Never>? { state.withLock { $0.active?.task } }

    // MARK: the end

    /// True once the call has ended, or has nothing left but the reader of its stream. Its task may not have noticed yet.
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// Ends the call. Only the first end counts. The caller may be on any thread, but must not hold a lock.
    /// - Parameters:
    ///   - outcome: The response or the error. The owner makes its value from the response before this method returns. If the owner fails,
    ///     the call ends with the owner's error.
    ///   - isDrop: True if the call's promise was dropped, and has settled already.
    func end(with outcome: Result<HTTPResponse, any Error>, isDrop: Bool = false) {
        if hasEnded { return }
        // Application code, such as a decoder, runs before the end is decided, so a drop during it still takes effect.
        let result = state.withLock { $0.active?.result }
        var outcome = outcome.mapError { explainFinally($0) }
        var settle: (@Sendable () -> Void)?
        if case .owner(let owner) = result, case .success(let response) = outcome {
            do { settle = try owner.settlement(by: response) } catch { outcome = .failure(explainFinally(error)) }
        }
        let isStream = options.kind == .stream
        guard let ended = state.withLock({ $0.end(with: outcome, isDrop: isDrop, isStream: isStream) }) else { return }
        finish(ended, outcome, isDrop: isDrop, settle)
    }

    private func finish(
        _ ended: CallState.End, _ outcome: Result<HTTPResponse, any Error>, isDrop: Bool, _ settle: (@Sendable () -> Void)? = nil
    ) {
        ended.deadlineTimer?.cancel()
        // Before the promise settles: a handler may start another transfer of the same file.
        ended.held.job?.detach()
        options.upload?.callDidEnd()
        options.sink?.callDidEnd(outcome)
        if ended.notifiesObservers { notifyOfEnd(ended, outcome, isDrop: isDrop) }
        finishProgress()
        // Before the promise settles: from then on nothing may be sent for the call. Requests that a loader made end with the loader's
        // task.
        for member in ended.held.others where !member.context.isLoaderMade { member.leave() }
        switch ended.held.wait {
        case .flight(let member): member.leave()
        // A loader may wait for the rest of the path in a separate task, which the cancellation below does not reach.
        case .pause(let waiter, _): waiter.resume(.failure(CancellationError()))
        case .delay, .none: break
        }
        switch outcome {
        case .success: settle?()
        case .failure(let error): ended.owner?.settle(failing: error)
        }
        ended.task?.cancel()
        ended.unregister()
    }

    /// Notifies the observers of the end. After a drop that happens on another thread, for which a reset and a shutdown wait.
    private func notifyOfEnd(_ ended: CallState.End, _ outcome: Result<HTTPResponse, any Error>, isDrop: Bool) {
        guard let observation else { return }
        guard isDrop, let registry = ended.held.registration?.0 else { return observation.end(outcome, attempts: attempts, isDrop: isDrop) }
        let work = registry.beginNotification()
        observation.end(outcome, attempts: attempts, isDrop: true) { registry.endWork(work) }
    }

    /// Drops the call through its owner. A call without an owner, or whose promise has settled with a stream, is ended directly.
    func drop() {
        guard case .owner(let owner) = state.withLock({ $0.active?.result }) else {
            return end(with: .failure(endError(.dropped, "dropped by the caller")))
        }
        owner.drop()
    }

    /// True if the call was dropped.
    var isDropped: Bool { state.withLock { $0.isDropped } }

    /// The response that the call ended with; for a stream, the response whose body is being read.
    var response: HTTPResponse? { state.withLock { $0.response } }

    /// The error that the call ended with.
    var failure: (any Error)? { state.withLock { $0.failure } }

    /// Settles the promise with a response whose body is still to be read. The call continues without the promise.
    func settle(withHead response: HTTPResponse) {
        guard let owner = state.withLock({ $0.settle(withHead: response) }) else { return }
        do { try owner.settlement(by: response)() } catch { owner.settle(failing: error) }
    }

    /// Ends the call of a stream with the outcome of its reader. Only the first end counts.
    /// - Parameters:
    ///   - error: The error of the reader; `nil` if it has read enough.
    ///   - isDrop: True if the caller dropped the stream before all of it was read.
    func endReading(with error: (any Error)?, isDrop: Bool = false) {
        let error = error.map { explainFinally($0) }
        func outcome(_ response: HTTPResponse) -> Result<HTTPResponse, any Error> { error.map { .failure($0) } ?? .success(response) }
        switch state.withLock({ $0.endReading(with: error, isDrop: isDrop) }) {
        case .call(let ended, let response): finish(ended, outcome(response), isDrop: isDrop)
        case .observers(let response): observation?.end(outcome(response), attempts: attempts, isDrop: isDrop)
        case nil: break
        }
    }

    // MARK: the flight

    /// Notes that the caller's request is about to get a flight: see `CallState.beginShare(inAttempt:)`.
    func beginShare(inAttempt attempt: Int) -> Bool { state.withLock { $0.beginShare(inAttempt: attempt) } }

    /// Notes that the caller's request has left its flight.
    func endShare(inAttempt attempt: Int) { state.withLock { $0.endShare(inAttempt: attempt) } }

    /// The flight that the call waits in, or runs; `nil` for none.
    var flight: Flight? { state.withLock { $0.flight } }

    /// True if the call is a member of a flight. Its requests never join that flight again: the call would wait for itself.
    func isMember(of flight: Flight) -> Bool { state.withLock { $0.isMember(of: flight) } }

    /// Notes that the call has joined a flight.
    /// - Throws: `CancellationError` if the call has ended, `Paused` if it was paused. The member then has to leave the flight.
    func enter(_ member: Flight.Member) throws {
        if member.context.isLoaderMade { return state.withLock { $0.enter(other: member) } }
        let job = member.flight.context.job
        // Attached first: an end of the call at this moment must find the caller attached.
        job?.attach()
        do {
            let earlierJob = try state.withLock { try $0.enter(member) }
            earlierJob?.detach()
        } catch {
            job?.detach()
            throw error
        }
    }

    /// Notes that the flight has ended, or that the call has left it.
    /// - Throws: `CancellationError` if the call has ended.
    func leaveFlight(_ member: Flight.Member, after outcome: Result<HTTPResponse, any Error>) throws {
        let isInterrupted = if case .failure(is Paused) = outcome { true } else { false }
        try state.withLock { try $0.leave(member, isInterrupted: isInterrupted) }
    }

    /// The part of the response that has arrived, as this caller may see it; `nil` before the head.
    var responseSoFar: HTTPResponse? {
        // The response is read outside the lock, because it takes the flight's lock.
        let flight = state.withLock { $0.flight ?? $0.active?.others.last?.flight }
        return flight?.response.map { CallContext(self).shown($0) }
    }

    // MARK: the attempts

    /// Notes the start of an attempt. It may have no credential, although the attempt before had one.
    func beginAttempt() { state.withLock { $0.facts.authentication = .none } }

    /// Notes a failed attempt that another one may follow. If the call then ends without another outcome, as at the deadline, its error
    /// contains the response and the error of this attempt.
    func noteFailure(_ failure: Unaccepted) { state.withLock { $0.noteFailure(failure) } }

    /// The facts that the attempts have established.
    var facts: AttemptFacts { state.withLock { $0.facts } }

    /// True if a server may have acted on the request in some attempt, even if the last attempt failed before it reached a server.
    var mayHaveActed: Bool { facts.firstAction != nil }

    /// Notes that a server may have acted on the request in an attempt.
    func noteAction(inAttempt number: Int) { state.withLock { $0.facts.firstAction = $0.facts.firstAction ?? number } }

    /// Notes the server's statement that it has not processed the request of an attempt.
    func noteUnprocessed(inAttempt number: Int) { state.withLock { if $0.facts.firstAction == number { $0.facts.firstAction = nil } } }

    /// Notes the role of the `Authentication`, before it adds the credential of an attempt.
    /// - Parameter isPresent: True if the request gets a credential. If false, an earlier request of the attempt may have had one. Its role
    ///   then stays, but a failed renewal is cleared.
    func beginAuthentication(isPresent: Bool) {
        state.withLock { if isPresent || $0.facts.authentication == .hasFailed { $0.facts.authentication = .handles401 } }
    }

    /// Notes that the credential could not be renewed, so that the request is not sent again.
    func noteFailedAuthentication() { state.withLock { $0.facts.authentication = .hasFailed } }

    /// Uses up the renewal of a credential after a 401 or a 403. All attempts of the call share the renewals: see `CredentialRenewals`.
    /// - Returns: True if the renewal was still unused.
    func consumeRenewal(after statusCode: Int) -> Bool { state.withLock { $0.facts.renewals.consume(after: statusCode) } }

    /// Makes the renewals available again, because a credential may expire while a transfer is paused.
    func restoreRenewals() { state.withLock { $0.facts.renewals = CredentialRenewals() } }

    /// Notes that a resumable upload has moved in an attempt. The retry policy and the renewals start over.
    func noteProgress(inAttempt number: Int) {
        state.withLock { state in
            state.facts.attemptsBeforeProgress = number - 1
            state.facts.renewals = CredentialRenewals()
        }
    }

    /// Notes the part of a resumable upload that is sent next. Its progress is that of the file.
    func beginPart(_ part: UploadPart) { state.withLock { $0.counts.begin(part) } }

    /// Notes that the server has the whole file of a resumable upload.
    func noteCompletion(of length: Int64) { state.withLock { $0.counts.complete(length) } }

    /// Notes that a part of a resumable upload has ended.
    func endPart() { state.withLock { $0.counts.part = nil } }
}

extension Call {
    /// The promise has settled. A drop ends the call; otherwise the call has already ended, or continues as a stream.
    func promiseDidSettle(_ dropError: (any Error)?) {
        guard let dropError else { return }
        end(with: .failure(observedDrop(dropError)), isDrop: true)
    }

    /// The error of a drop as observers see it, regardless of the error that the caller gave.
    func observedDrop(_ given: any Error) -> any Error {
        (given as? NessError)?.kind == .dropped ? given : error(.dropped, "the request was canceled")
    }
}

/// The receiver of a call's result: its promise, or the task that awaits it. It makes its value from the response.
protocol CallOwner: AnyObject, Sendable {
    /// Drops the call on the owner's behalf.
    func drop()
    /// Makes the value, off the main thread.
    /// - Returns: A closure that settles the owner with the value.
    func settlement(by response: HTTPResponse) throws -> @Sendable () -> Void
    func settle(failing error: any Error)
}
