import Foundation
import NessPromise

/// Joins a request to a flight, or starts one for it. The run of a flight is in `FlightStep+Run.swift`.
final class FlightStep: Sendable {
    let table: FlightTable
    /// The retry budget. A request that a loader sends again before it has a response uses it up as well.
    private let ledger: RetryLedger
    let jar: CookieJar?
    let cache: CacheStep?
    let exchanges: ExchangeStep
    let running: RunningRequests
    let clock: PipelineClock

    init(
        _ table: FlightTable, ledger: RetryLedger, jar: CookieJar?, cache: CacheStep?, exchanges: ExchangeStep, running: RunningRequests,
        clock: PipelineClock
    ) {
        self.table = table
        self.ledger = ledger
        self.jar = jar
        self.cache = cache
        self.exchanges = exchanges
        self.running = running
        self.clock = clock
    }

    func reset() {
        table.reset()
        exchanges.reset()
    }

    /// Completes a request with a flight: one that it joins, or one that it starts.
    @inline(never)
    func share(_ request: HTTPRequest, _ context: CallContext) async throws -> HTTPResponse {
        let isExtra = Self.beginShare(context)
        defer { Self.endShare(context) }
        while true {
            let member = try enter(request, context, isExtra: isExtra)
            let outcome: Result<HTTPResponse, any Error>
            if let waiter = member.waiter {
                do { outcome = .success(try await waiter.wait()) } catch { outcome = .failure(error) }
            } else {
                outcome = await run(member.flight)
            }
            if !context.isLoaderMade, !request.method.isSafe, member.flight.mayHaveActed {
                context.call.noteAction(inAttempt: context.attempt)
            }
            do { try context.call.leaveFlight(member, after: outcome) } catch { if !context.isLoaderMade { throw error } }
            if let response = try Self.judge(outcome, of: member.flight, for: request, in: context) { return response }
        }
    }

    /// Returns true for an extra request: a loader sends the caller's request while it still waits for the same one. Always false for a
    /// download: the second one to the same file joins the first, because otherwise each would wait for the other.
    @inline(never)
    private static func beginShare(_ context: CallContext) -> Bool {
        // Not inlined: the frame of `share` would have room for the options.
        !context.isLoaderMade && context.options.download == nil && context.call.beginShare(inAttempt: context.attempt)
    }

    @inline(never)
    private static func endShare(_ context: CallContext) {
        if !context.isLoaderMade, context.options.download == nil { context.call.endShare(inAttempt: context.attempt) }
    }

    /// Joins a flight, or starts one.
    /// - Parameter isExtra: True for an extra request: see `beginShare(_:)`.
    /// - Returns: The caller as a member. If the member has no waiter, the caller has to run the flight.
    @inline(never)
    private func enter(_ request: HTTPRequest, _ context: CallContext, isExtra: Bool) throws -> Flight.Member {
        var own: Flight?
        if isExtra, !ledger.takeRetry() {
            // Without budget, the loader gets the response to its first request, if the requests are equal.
            guard let first = context.call.flight, let identity = context.identity(of: request, ignoring: []),
                first.context.identity(of: first.request, ignoring: []) == identity
            else { throw context.error(.duplicate, RetryLedger.refusalOfExtraRequest) }
            own = first
        }
        while true {
            // Checked in each round: a drop may have ended this call together with the flight that it decided to join.
            try Task.checkCancellation()
            let decision = own.take().map { FlightTable.Decision.join($0, excluding: nil) } ?? table.decide(request, context)
            // The handler's closure takes the caller's place, with a separate call.
            let joining = decision.exclusion?.completion == nil ? context : context.inSeparateCall(context.request, clock: clock)
            guard let member = try joinOrBegin(request, joining, decision, isExtra: isExtra) else { continue }
            if case .replace(let replaced, _, let exclusion) = decision { replaced.excludeMembers(becauseOf: exclusion.reason) }
            guard let exclusion = decision.exclusion, let completion = exclusion.completion else { return member }
            deliver(member, of: joining.call, to: completion)
            throw context.error(.duplicate, exclusion.reason)
        }
    }

    /// Carries out a decision: joins its flight, starts one, or rejects the caller. Returns `nil` if the decision is outdated, because
    /// another caller was faster.
    private func joinOrBegin(
        _ request: HTTPRequest, _ context: CallContext, _ decision: FlightTable.Decision, isExtra: Bool
    ) throws -> Flight.Member? {
        let (identity, replaced): (RequestIdentity?, Flight?)
        switch decision {
        case .separate: (identity, replaced) = (nil, nil)
        case .start(let shared): (identity, replaced) = (shared, nil)
        case .replace(let old, let shared, _): (identity, replaced) = (shared, old)
        case .reject(let reason): throw context.error(.duplicate, reason)
        case .join(let joined, let exclusion):
            guard let member = joined.join(request, in: context, excludingOthers: exclusion?.reason) else { return nil }
            do { try context.call.enter(member) } catch {
                member.leave()
                throw error
            }
            return member
        }
        let flight = Flight(request, identity, in: context.options.download != nil ? Self.startingDownload(context) : context)
        // An extra request has a separate task, because it may have to end while the caller's first request continues.
        let isRunner = decision.exclusion?.completion == nil && !isExtra && !needsTask(request, context, isShared: identity != nil)
        // The caller joins before others can see the flight. Otherwise another caller could join first, and stop the flight by leaving it.
        guard let member = flight.join(request, in: context, isRunner: isRunner) else { return nil }
        do { try context.call.enter(member) } catch {
            flight.discard()
            throw error
        }
        guard table.insert(flight, replacing: replaced) else {
            flight.discard()
            try? context.call.leaveFlight(member, after: .failure(CancellationError()))
            return nil
        }
        if !isRunner, !flight.start({ [self] in _ = await run(flight) }) { table.remove(flight) }
        return member
    }

    /// Returns the context of a download's flight, with the job that the members attach to: that of the call's last flight, or a new one.
    private static func startingDownload(_ context: CallContext) -> CallContext {
        let (job, isInterrupted) = context.call.state.withLock { ($0.active?.job, $0.active?.isInterrupted == true) }
        // Only a pause can have kept the job's response from this call. Without a pause, the call has seen it.
        if !isInterrupted { job?.forgetResponse() }
        var context = context
        context.job = job ?? DownloadJob()
        return context
    }

    /// Returns true if a flight needs a separate task: see `Execution.needsTask(mayOutlastCaller:asksApplication:)`.
    private func needsTask(_ request: HTTPRequest, _ context: CallContext, isShared: Bool) -> Bool {
        let mayOutlastCaller = isShared || context.options.kind.isPausable || exchanges.runsApplicationCode(request, context)
        return context.call.options.execution.needsTask(
            mayOutlastCaller: mayOutlastCaller, asksApplication: request.redirects.asksApplication)
    }

    // MARK: the outcome

    /// Returns the response of a flight as a caller sees it, or throws the caller's error. Returns `nil` if only the validators of another
    /// caller rejected the response. This caller then starts again.
    @inline(never)
    private static func judge(
        _ outcome: Result<HTTPResponse, any Error>, of flight: Flight, for request: HTTPRequest, in context: CallContext
    ) throws -> HTTPResponse? {
        switch outcome {
        case .success(let response): return context.shown(response, insteadOf: (flight.request, request))
        case .failure(let error):
            let explained = context.explain(error, of: flight.context.request)
            guard try accepts(headRejectedBy: explained, of: flight, for: request, in: context) else { throw explained }
            return nil
        }
    }

    /// Judges the head of a shared download that the validators of another caller rejected before a byte was saved. Each caller has its own
    /// validators.
    /// - Returns: True if this caller accepts the head, and so starts a flight itself; false for any other error.
    /// - Throws: The error of this caller's validators.
    private static func accepts(
        headRejectedBy error: any Error, of flight: Flight, for request: HTTPRequest, in context: CallContext
    ) throws -> Bool {
        guard flight.context.job != nil, flight.context.call !== context.call, request.isIdempotent,
            let failure = error as? NessError, failure.kind == .validation,
            // A mismatch of the file concerns every caller, because equal downloads expect the same file.
            !(failure.underlying is FileMismatch), let head = failure.response
        else { return false }
        for validator in context.validators { try head.judge(by: validator) }
        return true
    }

    // MARK: the closure of a decision

    /// Passes the outcome of a flight to a closure, through a separate call. Like any call, it can be dropped by `dropAllRequests()`, a
    /// reset and a shutdown. Otherwise nothing could end a flight that only the closure waits for.
    private func deliver(
        _ member: Flight.Member, of call: Call, to completion: @escaping @Sendable (Result<HTTPResponse, any Error>) -> Void
    ) {
        call.start(for: nil, in: running) { [running] call in
            do {
                // A reset may have dropped all requests just before this one was added.
                if let reason = running.refusal(of: call.options.epoch) { throw call.error(.dropped, reason) }
                guard let response = try await member.waiter?.wait() else { throw CancellationError() }
                completion(.success(response))
                return response
            } catch {
                member.leave()
                call.end(with: .failure(error))
                completion(.failure(call.failure ?? error))
                throw error
            }
        }
    }
}
