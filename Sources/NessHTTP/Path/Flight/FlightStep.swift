import Foundation
import NessPromise

/// The flight of a request: one that it joins, or one that it starts, with all redirects and ranges. The second of the three functions that
/// a request goes through.
final class FlightStep: Sendable {
    typealias Sharing = SharingStep<Flight>

    private let sharing: Sharing
    /// Counts the requests that a loader sends again before it has a response.
    private let ledger: RetryLedger
    private let jar: CookieJar?
    private let cache: CacheStep?
    let exchanges: ExchangeStep
    let running: RunningRequests
    let clock: PipelineClock

    init(
        _ sharing: Sharing, ledger: RetryLedger, jar: CookieJar?, cache: CacheStep?, exchanges: ExchangeStep, running: RunningRequests,
        clock: PipelineClock
    ) {
        self.sharing = sharing
        self.ledger = ledger
        self.jar = jar
        self.cache = cache
        self.exchanges = exchanges
        self.running = running
        self.clock = clock
    }

    func reset() {
        sharing.reset()
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
            context.call.setPartialResponse(nil)
            if !context.isLoaderMade, !request.method.isSafe, member.flight.mayHaveActed {
                context.call.noteAction(inAttempt: context.attempt)
            }
            do { try context.call.leaveFlight(member, after: outcome) } catch { if !context.isLoaderMade { throw error } }
            if let response = try Self.judge(outcome, of: member.flight, for: request, in: context) { return response }
        }
    }

    // Two downloads to one file would wait for each other, so that a second one joins the first. Not inlined: the frame of `share` would
    // have room for the options.
    @inline(never)
    private static func beginShare(_ context: CallContext) -> Bool {
        !context.isLoaderMade && !context.call.isContinuable && context.call.beginShare(inAttempt: context.attempt)
    }

    @inline(never)
    private static func endShare(_ context: CallContext) {
        if !context.isLoaderMade, !context.call.isContinuable { context.call.endShare(inAttempt: context.attempt) }
    }

    /// Runs a flight, and gives its members the outcome.
    @inline(never)
    private func run(_ flight: Flight) async -> Result<HTTPResponse, any Error> {
        let context = flight.context
        let outcome: Result<HTTPResponse, any Error>
        do {
            if let job = context.job, let target = context.options.download {
                outcome = .success(try await download(by: job, to: target, flight))
            } else {
                outcome = .success(try await redirects(flight.request, flight, context.options.sink))
            }
        } catch {
            outcome = .failure(error)
        }
        sharing.remove(flight)
        if !flight.request.method.isSafe { await didWrite(flight.request, outcome) }
        return flight.finish(outcome)
    }

    /// A write has ended: what was read before is outdated. This holds even after a failure, because the server may have acted.
    @inline(never)
    private func didWrite(_ request: HTTPRequest, _ outcome: Result<HTTPResponse, any Error>) async {
        sharing.closeReads(after: request)
        if case .success(let response) = outcome, !response.history.isEmpty { sharing.closeReads(after: response) }
        await cache?.invalidate(after: request, outcome)
    }

    /// Joins a flight, or starts one.
    /// - Returns: The caller as a member. Without a waiter, the caller has to run the flight.
    @inline(never)
    private func enter(_ request: HTTPRequest, _ context: CallContext, isExtra: Bool) throws -> Flight.Member {
        var own: Flight?
        if isExtra, !ledger.takeRetry() {
            // The loader gets the response to an equal request.
            guard let first = context.call.flight, let identity = context.identity(of: request, ignoring: []),
                first.context.identity(of: first.request, ignoring: []) == identity
            else { throw context.error(.duplicate, RetryLedger.refusalOfExtraRequest) }
            own = first
        }
        while true {
            // Again after a flight that a caller decided to join, and that has ended: a drop may have ended both.
            try Task.checkCancellation()
            let decision = own.take().map { Sharing.Decision(joined: $0) } ?? decide(request, context)
            if let refusal = decision.refusal { throw context.error(.duplicate, refusal) }
            // A closure that the handler gave replaces the caller, and gets a separate call.
            var joining = context
            if decision.completion != nil { joining = context.inSeparateCall(context.request, clock: clock) }
            guard let member = try joinOrBegin(request, joining, decision, isExtra: isExtra) else { continue }
            if let exclusion = decision.exclusion {
                decision.replaced?.excludeMembers(becauseOf: exclusion)
                if let completion = decision.completion {
                    deliver(member, of: joining.call, to: completion)
                    throw context.error(.duplicate, exclusion)
                }
            }
            return member
        }
    }

    private func decide(_ request: HTTPRequest, _ context: CallContext) -> Sharing.Decision {
        sharing.decide(request, of: context.options.kind) { flight in
            !context.options.isContinuable && context.call.isMember(of: flight)
        } _: { ignored in
            context.identity(of: request, ignoring: ignored)
        }
    }

    /// Returns a caller as a member of a flight; `nil` if another caller was faster.
    private func joinOrBegin(
        _ request: HTTPRequest, _ context: CallContext, _ decision: Sharing.Decision, isExtra: Bool
    ) throws -> Flight.Member? {
        if let joined = decision.joined {
            guard let member = joined.join(request, in: context, excludingOthers: decision.exclusion) else { return nil }
            do { try context.call.enter(member) } catch {
                member.leave()
                throw error
            }
            return member
        }
        let flight = Flight(request, decision.identity, in: context.startingFlight())
        // An extra request ends without its caller, whose other request continues.
        let isRunner = decision.completion == nil && !isExtra && !needsTask(request, context, isShared: decision.identity != nil)
        // The caller joins before others can see the flight. A flight without members would be closed.
        guard let member = flight.join(request, in: context, isRunner: isRunner) else { return nil }
        do { try context.call.enter(member) } catch {
            flight.discard()
            throw error
        }
        guard sharing.insert(flight, replacing: decision.replaced) else {
            flight.discard()
            try? context.call.leaveFlight(member, after: .failure(CancellationError()))
            return nil
        }
        if !isRunner, !flight.start({ [self] in _ = await run(flight) }) { sharing.remove(flight) }
        return member
    }

    private func needsTask(_ request: HTTPRequest, _ context: CallContext, isShared: Bool) -> Bool {
        let mayOutlastCaller = isShared || context.options.isContinuable || exchanges.runsApplicationCode(request, context)
        return context.call.options.execution.needsTask(
            mayOutlastCaller: mayOutlastCaller, asksApplication: request.redirects.asksApplication)
    }

    // MARK: the outcome

    /// Returns the response of a flight as a caller sees it, or throws the caller's error. Returns `nil` if the outcome does not concern
    /// this caller, who then starts again.
    @inline(never)
    private static func judge(
        _ outcome: Result<HTTPResponse, any Error>, of flight: Flight, for request: HTTPRequest, in context: CallContext
    ) throws -> HTTPResponse? {
        switch outcome {
        case .success(let response): return context.shown(response, insteadOf: (flight.request, request))
        case .failure(let error):
            let explained = context.explain(error, of: flight.context.request)
            guard try context.accepts(headRejectedBy: explained, of: flight, for: request) else { throw explained }
            return nil
        }
    }

    // MARK: the closure of a decision

    /// Has a completion get the outcome of a flight. Like a caller's promise, its call is dropped by `dropAllRequests()`, a reset and a
    /// shutdown: nothing else would end a flight without other callers.
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

    // MARK: the run of a flight

    /// Runs a job, which fetches the file with as many requests as it needs. Each of them is redirected separately.
    @inline(never)
    func download(by job: DownloadJob, to target: DownloadTarget, _ flight: Flight) async throws -> HTTPResponse {
        let (request, context) = (flight.request, flight.context)
        // Code of the application may ignore a cancellation, and the job has to leave its file to the next run.
        let isAbandonable = exchanges.runsApplicationCode(request, context) || request.redirects.asksApplication
        let download = DownloadRequest(
            request: request, target: target, source: PartialRecord.source(of: request, identifiedBy: target.identifier),
            keepsContentCoding: (context.transport ?? exchanges.wire.transport).keepsContentCoding, elapsed: clock.elapsed,
            send: { [self] request, sink in
                guard isAbandonable else { return try await redirects(request, flight, sink) }
                return try await AbandonableWork.run(stoppedBy: { _ in }) { [self] in try await redirects(request, flight, sink) }
            },
            reportSaved: { flight.report(.received($0, of: $0)) }, makeError: { context.error($0, $1, response: $2, underlying: $3) })
        // Runs as registered work: a reset waits until the partial file is ready for another run.
        return try await running.work(context.options.epoch) { try await job.run(download) }
    }

    /// Sends a request and follows its redirects, so that no transport has to, and the same rules apply to every transport.
    /// - Parameters:
    ///   - request: The request.
    ///   - flight: The flight.
    ///   - sink: Takes the body of the final response as it arrives; `nil` to collect it in memory.
    @inline(never)
    func redirects(_ request: HTTPRequest, _ flight: Flight, _ sink: (any BodySink)?) async throws -> HTTPResponse {
        var request = request
        let context = flight.context
        var redirects = RedirectHistory(
            of: context.call.request, keepingCredentialInside: context.credentialScope, in: context.options.environment)
        while true {
            sink?.willTakeBody(after: redirects.history)
            let response: HTTPResponse
            do {
                // Not behind a write, which outdates what is stored.
                if let cache, sink == nil, !redirects.history.isEmpty, flight.request.method.isSafe {
                    response = try await load(request, RedirectedFlight(flight, byteCount: redirects.byteCount), from: cache)
                } else {
                    response = try await send(withCookies(request, flight), flight, sink, bytesBefore: redirects.byteCount)
                }
            } catch {
                throw redirects.attributed(error)
            }
            guard var following = redirects.following(response) else { return try redirects.ended(with: response) }
            following.removeCacheConditions()
            guard try await redirects.follow(response, to: following, by: request.redirects) else {
                return try redirects.ended(with: response)
            }
            request = redirects.next(after: request)
        }
    }

    /// Completes the request that a redirect asks for with a stored response, or sends it.
    @inline(never)
    private func load(_ request: HTTPRequest, _ redirected: RedirectedFlight, from cache: CacheStep) async throws -> HTTPResponse {
        let flight = redirected.flight
        let upstream = CacheUpstream(flights: self, context: flight.context, redirected: redirected)
        return try await cache.load(withCookies(request, flight), over: upstream)
    }

    /// Sends a request of a flight, and stores the cookies that the response sets.
    @inline(__always)
    func send(_ request: HTTPRequest, _ flight: Flight, _ sink: (any BodySink)?, bytesBefore: Int) async throws -> HTTPResponse {
        let response = try await exchanges.send(request, flight, sink, bytesBefore: bytesBefore)
        // An exchange with a sink stores them at the head: the end of the body may be hours away, or never come.
        if let jar, sink == nil, !request.settings.bypassesCookies { jar.store(from: response.headers, url: response.url) }
        return response
    }

    /// Returns a request with the cookies of its URL.
    @inline(never)
    private func withCookies(_ request: HTTPRequest, _ flight: Flight) -> HTTPRequest {
        jar?.adding(to: request, known: flight.context.cookies ?? JarCookies()) ?? request
    }
}

/// A flight after some of its redirects, which collects its body in memory.
final class RedirectedFlight: Sendable {
    let flight: Flight
    /// The number of bytes in the redirects' bodies.
    let byteCount: Int

    init(_ flight: Flight, byteCount: Int) { (self.flight, self.byteCount) = (flight, byteCount) }
}
