import Foundation
import NessLock
import NessPromise

/// One call of a caller: the request, the caller's policies, and everything that is known of the call while it runs.
///
/// There is one object a call, made when the request starts, and it covers all attempts. `end(with:)` is the only way in which a call
/// ends: a drop, the deadline, a reset, the error of a listener and the outcome of the attempts all come through it. There the promise
/// settles and the observers get the one end. Nothing waits for the call's task, so a loader that ignores cancellation delays nobody.
///
/// The call is internal: loaders and observers see only `HTTPRequest`.
final class Call: Sendable {
    /// The state of a call.
    struct State: Sendable {
        /// The task that makes the attempts; `nil` before the start.
        fileprivate var task: Task<Void, Never>?
        /// The call as a member of the exchange that it takes part in; `nil` between exchanges.
        fileprivate(set) var member: Exchange.Member?
        fileprivate var owner: (any CallOwner)?
        fileprivate(set) var hasEnded = false
        fileprivate var unregister: (@Sendable () -> Void)?
        /// The source of the current exchange's partial response.
        fileprivate var partial: (any PartialResponse)?

        var deadlineTimer: StartedTimer?
        var deadlineEnd: Duration?
        /// Ends the work that another result can replace at the deadline; `nil` if the deadline ends the call.
        var abandonAtDeadline: (@Sendable (any Error) -> Void)?
        var pause = CallPause()

        var counts = CallCounts()
        fileprivate var isFinal = false
        fileprivate var isAuthenticated = false
        fileprivate var renewals = CredentialRenewals()
        fileprivate var firstAction: Int?
        /// The response that the call ended with.
        fileprivate var response: HTTPResponse?
        fileprivate var isDropped = false
        /// The reader of a stream, from its head on.
        fileprivate var reader = Reader.none

        mutating func makeRetryable() { isFinal = false }
    }

    /// The reader of a stream's body. Observers hear of a success when the reader has ended: it may fail on what the bytes say.
    fileprivate enum Reader: Sendable {
        case none, reading
        /// The associated value is the error of a reader that could not use the body.
        case ended((any Error)?)
    }

    /// The request as the caller made it. Errors name this one.
    let request: HTTPRequest
    let policies: CallPolicies
    /// The mistake of the caller that keeps the request from being made; `nil` for a valid request.
    let fault: (any Error)?
    /// The manager's clock.
    let clock: PipelineClock
    /// Notifies the observers, and measures the call; `nil` if there are no observers.
    let observation: Observation?
    /// The observers' verdict and the caller's validators, in the order in which they judge a response.
    let validators: [any ResponseValidator]
    let state = Lock(State())

    /// Makes a call.
    /// - Parameters:
    ///   - request: The request, or the error that keeps it from being made.
    ///   - policies: The caller's policies.
    ///   - observers: The manager's observers and the request's own.
    ///   - clock: The manager's clock.
    init(
        _ request: __owned Result<HTTPRequest, any Error>, _ policies: __owned CallPolicies, observers: [any RequestObserver] = [],
        clock: PipelineClock
    ) {
        switch request {
        case .success(let request): (self.request, fault) = (request, nil)
        case .failure(let error): (self.request, fault) = (Self.none, error)
        }
        if observers.isEmpty || fault != nil {
            (observation, validators) = (nil, policies.validators)
        } else {
            let observation = Observation(observers, isDownload: policies.kind == .download, clock: clock)
            validators = [ObserverVerdict(observation: observation, request: self.request)] + policies.validators
            self.observation = observation
        }
        self.policies = policies
        self.clock = clock
    }

    /// Stands for a request that could not be made. Nothing shows or sends it.
    private static let none = HTTPRequest(url: URL(fileURLWithPath: "/"))

    // MARK: the start

    /// Starts the call: makes the task that sends the request.
    /// - Parameters:
    ///   - owner: The promise of the call, which is retained until the call ends.
    ///   - running: The manager's registry, which keeps the call until it ends.
    ///   - send: Makes the attempts, and returns the response.
    func start(
        for owner: (any CallOwner)?, in running: RunningRequests, _ send: @escaping @Sendable (Call) async throws -> HTTPResponse
    ) {
        state.withLock { $0.owner = owner }
        let id = running.add(self)
        let isOver = state.withLock { state in
            if state.hasEnded { return true }
            state.unregister = { running.remove(id) }
            return false
        }
        if isOver { running.remove(id) }
        // Under the lock, which `begin` takes: a drop meanwhile finds the task, and nothing is sent after that. `send` runs in every case,
        // because it may have promised to call a closure.
        state.withLock { state in
            let task = Task { [self] in
                do {
                    end(with: .success(try await send(self)))
                } catch {
                    end(with: .failure(error))
                }
            }
            if state.hasEnded { task.cancel() } else { state.task = task }
        }
    }

    /// Starts the call in its task: checks that it may start, notifies the observers, and starts the deadline.
    func begin(in running: RunningRequests) throws {
        if let fault { throw fault }
        if hasEnded { throw CancellationError() }
        try Task.checkCancellation()
        if let reason = running.refusal(of: policies.epoch) { throw error(.dropped, reason) }
        observation?.begin(request)
        guard let deadline = request.deadline else { return }
        guard deadline > .zero else { throw error(.invalidRequest, "the deadline is not positive") }
        startDeadline(after: deadline)
    }

    /// Cancels the task, which runs an exchange without members.
    func cancelTask() {
        state.withLock { $0.task }?.cancel()
    }

    // MARK: the end

    /// True once the call has ended. Its task may not have noticed yet.
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// Ends the call. Only the first end counts. Callable from any thread, without a lock held.
    /// - Parameters:
    ///   - outcome: The response or the error. The caller may turn the response into a value here, or fail to.
    ///   - isDrop: True if the call's promise was dropped, and has settled already.
    func end(with outcome: Result<HTTPResponse, any Error>, isDrop: Bool = false) {
        if hasEnded { return }
        // Code of the application, such as a decoder, runs before the end is decided: a drop meanwhile overtakes it.
        let owner = state.withLock { $0.owner }
        var outcome = outcome.mapError { explainFinally($0) }
        var settle: (@Sendable () -> Void)?
        if let owner, case .success(let response) = outcome {
            do { settle = try owner.settlement(by: response) } catch { outcome = .failure(explainFinally(error)) }
        }
        let response = try? outcome.get()
        guard let ended = takeEnd(response, isDrop: isDrop) else { return }
        ended.deadlineTimer?.cancel()
        policies.sink?.callDidEnd(outcome)
        switch ended.reader {
        case .reading where response != nil: break
        case .ended(let error?): observation?.end(request, .failure(error), attempts: attempts, isDrop: isDrop)
        default: observation?.end(request, outcome, attempts: attempts, isDrop: isDrop)
        }
        finishProgress(with: response)
        switch outcome {
        case .success: settle?()
        case .failure(let error): owner?.settle(failing: error)
        }
        ended.waiter?.resume(.failure(CancellationError()))
        ended.member?.leave()
        ended.task?.cancel()
        ended.unregister?()
    }

    /// The references that a call holds until its end. They are released outside its lock.
    private struct Held {
        let owner: (any CallOwner)?
        /// The task to cancel; `nil` if it runs an exchange that others may have joined. The last of them to leave cancels it.
        let task: Task<Void, Never>?
        let member: Exchange.Member?
        let deadlineTimer: StartedTimer?
        let unregister: (@Sendable () -> Void)?
        let partial: (any PartialResponse)?
        let waiter: Waiter?
        let reader: Reader
    }

    private func takeEnd(_ response: HTTPResponse?, isDrop: Bool) -> Held? {
        state.withLock { state in
            if state.hasEnded { return nil }
            (state.hasEnded, state.isDropped) = (true, isDrop)
            state.response = response
            // The body of an error, for example: it was collected, and is yet to be read.
            if case .none = state.reader, policies.kind == .stream, response != nil, state.owner != nil { state.reader = .reading }
            let task = state.member?.isRunner == true ? nil : state.task.take()
            defer {
                (state.owner, state.member, state.deadlineTimer, state.unregister, state.partial) = (nil, nil, nil, nil, nil)
                state.abandonAtDeadline = nil
                state.pause.end()
            }
            return Held(
                owner: state.owner, task: task, member: state.member, deadlineTimer: state.deadlineTimer, unregister: state.unregister,
                partial: state.partial, waiter: state.pause.waiter, reader: state.reader)
        }
    }

    /// Drops the call: its promise, or, if that has its value already, what still runs.
    func drop() {
        guard let owner = state.withLock({ $0.owner }) else { return end(with: .failure(error(.dropped, "dropped by the caller"))) }
        owner.drop()
    }

    /// True if the call was dropped.
    var isDropped: Bool { state.withLock { $0.isDropped } }

    /// The response that the call ended with; for a stream, the response whose body is being read.
    var response: HTTPResponse? { state.withLock { $0.response } }

    /// Settles the promise with a response whose body is still to be read. The call continues without the promise.
    func settle(withHead response: HTTPResponse) {
        let owner: (any CallOwner)? = state.withLock { state in
            if state.hasEnded { return nil }
            (state.response, state.reader) = (response, .reading)
            return state.owner.take()
        }
        guard let owner else { return }
        do { try owner.settlement(by: response)() } catch { owner.settle(failing: error) }
    }

    /// Ends the call of a stream with the outcome of its reader. Only the first end counts.
    /// - Parameters:
    ///   - error: The error of the reader; `nil` if it has read enough.
    ///   - isDrop: True if the caller dropped the stream before all of it was read.
    func endReading(with error: (any Error)?, isDrop: Bool = false) {
        let (reader, hasEnded, response) = state.withLock { state in
            defer { state.reader = .ended(error) }
            if isDrop { state.isDropped = true }
            return (state.reader, state.hasEnded, state.response)
        }
        guard case .reading = reader, let response else { return }
        let outcome: Result<HTTPResponse, any Error> = error.map { .failure($0) } ?? .success(response)
        if !hasEnded { return end(with: outcome, isDrop: isDrop) }
        // The whole body had arrived.
        observation?.end(request, outcome, attempts: attempts, isDrop: isDrop)
    }

    // MARK: the exchange

    /// Notes the exchange that the call takes part in.
    /// - Throws: `CancellationError` if the call has ended, `Paused` if it was paused. The caller then has to leave the exchange.
    func enter(_ member: Exchange.Member) throws {
        try state.withLock { state in
            if state.hasEnded { throw CancellationError() }
            if state.pause.waiter != nil { throw Paused() }
            state.member = member
        }
    }

    /// Notes that the exchange has ended, or that the call has left it.
    /// - Throws: `CancellationError` if the call has ended.
    func leaveExchange() throws {
        let hasEnded = state.withLock { state in
            state.member = nil
            if state.hasEnded { state.task = nil }
            return state.hasEnded
        }
        if hasEnded { throw CancellationError() }
    }

    /// Sets the source of the partial response while an exchange runs for this call; `nil` once the exchange has ended.
    func setPartialResponse(_ source: (any PartialResponse)?) {
        // The previous source is released outside the lock.
        _ = state.withLock { state in
            defer { if !state.hasEnded { state.partial = source } }
            return state.partial
        }
    }

    /// The part of the response that has arrived, as this caller may see it; `nil` before the head.
    var responseSoFar: HTTPResponse? { state.withLock { $0.partial }?.response.map { CallContext(self).shown($0) } }

    // MARK: the server's actions

    /// True if a server may have acted on the request in some attempt, even if the last attempt failed before it reached a server.
    var mayHaveActed: Bool { state.withLock { $0.firstAction != nil } }

    /// Notes that a server may have acted on the request in an attempt.
    func noteAction(inAttempt number: Int) { state.withLock { $0.firstAction = $0.firstAction ?? number } }

    /// Notes that the server said that it has not processed the request of an attempt.
    func noteRefusal(inAttempt number: Int) { state.withLock { if $0.firstAction == number { $0.firstAction = nil } } }

    // MARK: the credential

    /// True if no retry control may decide about the outcome of the last attempt.
    var isFinal: Bool { state.withLock { $0.isFinal } }
    /// True if an `Authentication` handles a 401 of this request.
    var isAuthenticated: Bool { state.withLock { $0.isAuthenticated } }

    /// Keeps retry controls from deciding about the outcome of the last attempt.
    func makeFinal() { state.withLock { $0.isFinal = true } }

    /// Notes that an `Authentication` handles a 401 of this request.
    func markAuthenticated() { state.withLock { $0.isAuthenticated = true } }

    /// Uses up the renewal of a credential after a 401 or a 403. All attempts of the call share one of each.
    /// - Returns: True if the renewal was still unused.
    func consumeRenewal(after statusCode: Int) -> Bool { state.withLock { $0.renewals.consume(after: statusCode) } }

    /// Makes the renewals available again, because a credential may expire while a download is paused.
    func restoreRenewals() { state.withLock { $0.renewals = CredentialRenewals() } }
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

/// The promise of a call. It makes its value from the response, and settles when the call ends.
protocol CallOwner: AnyPromise {
    /// Makes the value, off the main thread.
    /// - Returns: A closure that settles the promise with the value.
    func settlement(by response: HTTPResponse) throws -> @Sendable () -> Void
    func settle(failing error: any Error)
}

/// A source of the part of a response that has arrived.
protocol PartialResponse: AnyObject, Sendable {
    /// The part of the response that has arrived; `nil` before the head.
    var response: HTTPResponse? { get }
}

/// The credential renewals of one request: one after a 401, and one after a 403. A 401 after a renewal is final.
struct CredentialRenewals: Sendable {
    private var last: Int?

    mutating func consume(after statusCode: Int) -> Bool {
        guard last == nil || (last == 401 && statusCode == 403) else { return false }
        last = statusCode
        return true
    }
}
