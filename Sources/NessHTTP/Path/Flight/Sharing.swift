import Foundation
import NessPromise

/// The sharing of flights: equal requests wait in one.
extension Pipeline {
    /// Completes a request with a flight: one that it joins, or one that it starts.
    @inline(never)
    func share(_ request: HTTPRequest, _ context: CallContext) async throws -> HTTPResponse {
        while true {
            let member = try enter(request, context)
            let outcome: Result<HTTPResponse, any Error>
            if let waiter = member.waiter {
                do { outcome = .success(try await waiter.wait()) } catch { outcome = .failure(error) }
            } else {
                outcome = await run(member.flight)
            }
            context.call.setPartialResponse(nil)
            if !context.isLoaderMade {
                if !request.method.isSafe, member.flight.mayHaveActed { context.call.noteAction(inAttempt: context.attempt) }
                try context.call.leaveFlight(after: outcome)
            }
            if let response = try Self.judge(outcome, of: member.flight, for: request, in: context) { return response }
        }
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
        coalesce.remove(flight)
        if !flight.request.method.isSafe { await didWrite(flight.request, outcome) }
        return flight.finish(outcome)
    }

    /// A write has ended: what was read before is outdated. This holds even after a failure, because the server may have acted.
    @inline(never)
    private func didWrite(_ request: HTTPRequest, _ outcome: Result<HTTPResponse, any Error>) async {
        coalesce.closeReads(after: request)
        if case .success(let response) = outcome, !response.history.isEmpty { coalesce.closeReads(after: response) }
        await cache?.invalidate(after: request, outcome)
    }

    /// Joins a flight, or starts one.
    /// - Returns: The caller as a member. Without a waiter, the caller has to run the flight.
    @inline(never)
    private func enter(_ request: HTTPRequest, _ context: CallContext) throws -> Flight.Member {
        while true {
            // Again after a flight that a caller decided to join, and that has ended: a drop may have ended both.
            try Task.checkCancellation()
            let decision = try coalesce.decide(request, in: context)
            // A closure that the handler gave replaces the caller, and gets a separate call.
            var joining = context
            if decision.completion != nil { joining = context.inSeparateCall(context.request, clock: clock) }
            guard let member = try joinOrBegin(request, joining, decision) else { continue }
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

    /// Returns a caller as a member of a flight; `nil` if another caller was faster.
    private func joinOrBegin(
        _ request: HTTPRequest, _ context: CallContext, _ decision: Coalesce.Decision
    ) throws -> Flight.Member? {
        if let joined = decision.joined {
            guard let member = joined.join(request, in: context, excludingOthers: decision.exclusion) else { return nil }
            do { try note(member, context) } catch {
                member.leave()
                throw error
            }
            return member
        }
        let flight = Flight(request, decision.identity, in: context.startingFlight())
        let isRunner = decision.completion == nil && !needsTask(request, context, isShared: decision.identity != nil)
        // The caller joins before others can see the flight. A flight without members would be closed.
        guard let member = flight.join(request, in: context, isRunner: isRunner) else { return nil }
        do { try note(member, context) } catch {
            flight.discard()
            throw error
        }
        guard coalesce.insert(flight, replacing: decision.replaced) else {
            flight.discard()
            return nil
        }
        if !isRunner, !flight.start({ [self] in _ = await run(flight) }) { coalesce.remove(flight) }
        return member
    }

    /// Notes a caller's flight, so that its end and a pause leave the flight.
    private func note(_ member: Flight.Member, _ context: CallContext) throws {
        if !context.isLoaderMade { try context.call.enter(member) }
    }

    /// True if the flight needs a separate task, because the caller may have to continue before the flight ends: other callers still
    /// wait for it after this caller's idle timeout or a pause, or code of the application ignores a stop.
    private func needsTask(_ request: HTTPRequest, _ context: CallContext, isShared: Bool) -> Bool {
        if context.options.kind == .download { return true }
        let mayOutlastCaller = isShared || runsApplicationCode(request, context)
        // A task that awaits the call continues at the call's end. A promise's task may stay for others, unless it then has more to do.
        if context.options.isAwaited { return mayOutlastCaller || request.redirects.asksApplication }
        guard mayOutlastCaller else { return false }
        return loaders.areAboveSharing || context.call.options.overrides?.loaders.areAboveSharing == true || control(of: context) != nil
            || cache != nil
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
                completion(.failure(call.explain(error)))
                throw error
            }
        }
    }
}
