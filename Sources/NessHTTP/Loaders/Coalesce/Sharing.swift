import Foundation
import NessPromise

/// The sharing of exchanges: equal requests wait in one.
extension Pipeline {
    /// Completes a request with an exchange: one that it joins, or one that it starts.
    func share(_ request: HTTPRequest, _ context: CallContext) async throws -> HTTPResponse {
        // Even after a failed write, because the server may have acted on it.
        defer { if !request.method.isSafe { coalesce.closeReads(after: request) } }
        while true {
            let member = try enter(request, context)
            let outcome: Result<HTTPResponse, any Error>
            if let waiter = member.waiter {
                do { outcome = .success(try await waiter.wait()) } catch { outcome = .failure(error) }
            } else {
                outcome = await run(member.exchange)
            }
            context.call.setPartialResponse(nil)
            if !context.isSide {
                if !request.method.isSafe, member.exchange.mayHaveActed { context.call.noteAction(inAttempt: context.attempt) }
                try context.call.leaveExchange()
            }
            guard let response = try Self.judge(outcome, of: member.exchange, for: request, in: context) else { continue }
            if !request.method.isSafe, !response.history.isEmpty {
                for url in response.writtenURLs { coalesce.closeReads(of: ExactText(ParsedURL(url).normalized)) }
            }
            return response
        }
    }

    /// Runs an exchange, and gives its members the outcome.
    private func run(_ exchange: Exchange) async -> Result<HTTPResponse, any Error> {
        let outcome: Result<HTTPResponse, any Error>
        do { outcome = .success(try await hops(exchange.request, exchange)) } catch { outcome = .failure(error) }
        coalesce.remove(exchange)
        return exchange.finish(outcome)
    }

    /// Joins an exchange, or starts one.
    /// - Returns: The caller as a member. Without a waiter, the caller has to run the exchange.
    @inline(never)
    private func enter(_ request: HTTPRequest, _ context: CallContext) throws -> Exchange.Member {
        while true {
            // Again after an exchange that a caller decided to join, and that has ended: a drop may have ended both.
            try Task.checkCancellation()
            let decision = try coalesce.decide(request, in: context)
            // A closure that the handler gave replaces the caller, and gets a separate call.
            var joining = context
            if decision.completion != nil { joining = CallContext(deliveryCall(for: context)) }
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

    /// Returns a caller as a member of an exchange; `nil` if another caller was faster.
    private func joinOrBegin(
        _ request: HTTPRequest, _ context: CallContext, _ decision: Coalesce.Decision
    ) throws -> Exchange.Member? {
        if let joined = decision.joined {
            guard let member = joined.join(request, in: context, excludingOthers: decision.exclusion) else { return nil }
            do { try note(member, context) } catch {
                member.leave()
                throw error
            }
            return member
        }
        let exchange = Exchange(request, decision.identity, in: context)
        let isRunner = decision.completion == nil && !needsTask(request, context, isShared: decision.identity != nil)
        // The caller joins before others can see the exchange. An exchange without members would be closed.
        guard let member = exchange.join(request, in: context, isRunner: isRunner) else { return nil }
        do { try note(member, context) } catch {
            exchange.discard()
            throw error
        }
        guard coalesce.insert(exchange, replacing: decision.replaced) else {
            exchange.discard()
            return nil
        }
        if !isRunner { exchange.start { [self] in _ = await run(exchange) } }
        return member
    }

    /// Notes a caller's exchange, so that its end and a pause leave the exchange.
    private func note(_ member: Exchange.Member, _ context: CallContext) throws {
        if !context.isSide { try context.call.enter(member) }
    }

    /// True if the exchange needs a separate task, because the caller may have to continue before the exchange ends: other callers still
    /// wait for it after this caller's idle timeout or a pause, or code of the application ignores a stop.
    private func needsTask(_ request: HTTPRequest, _ context: CallContext, isShared: Bool) -> Bool {
        if context.policies.kind == .download { return true }
        guard isShared || !loaders(at: .exchange, context).isEmpty || !wire.isStoppable(request, in: context) else { return false }
        return loaders.areAboveSharing || context.call.policies.additions?.loaders.areAboveSharing == true || control(of: context) != nil
            || cache != nil
    }

    // MARK: the outcome

    /// Returns the response of an exchange as a caller sees it, or throws the caller's error. Returns `nil` if the outcome does not concern
    /// this caller, who then starts again.
    @inline(never)
    private static func judge(
        _ outcome: Result<HTTPResponse, any Error>, of exchange: Exchange, for request: HTTPRequest, in context: CallContext
    ) throws -> HTTPResponse? {
        switch outcome {
        case .success(let response): return context.shown(response, insteadOf: (exchange.request, request))
        case .failure(let error):
            let explained = context.explain(error, of: exchange.context.request)
            // A download is judged by the validators of the caller who started it. If this caller's validators accept the response, it
            // starts a new exchange.
            guard case NessError.validation(let failure) = explained, context.policies.kind == .download, let response = failure.response,
                // A file that is not the expected one is so for every caller: equal downloads expect the same.
                !(failure.underlying is FileMismatch)
            else { throw explained }
            for validator in context.validators { try response.judge(by: validator) }
            return nil
        }
    }

    // MARK: the closure of a decision

    private func deliveryCall(for context: CallContext) -> Call {
        var choices = context.policies.choicesForSideRequest
        choices.kind = context.policies.kind
        return Call(.success(context.request), CallPolicies(choices), clock: clock)
    }

    /// Has a completion get the outcome of an exchange. Like a caller's promise, its call is dropped by `dropAllRequests()`, a reset and a
    /// shutdown: nothing else would end an exchange without other callers.
    private func deliver(
        _ member: Exchange.Member, of call: Call, to completion: @escaping @Sendable (Result<HTTPResponse, any Error>) -> Void
    ) {
        call.start(for: nil, in: running) { [running] call in
            do {
                // A reset may have dropped all requests just before this one was added.
                if let reason = running.refusal(of: call.policies.epoch) { throw call.error(.dropped, reason) }
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
