import Foundation
import NessPromise

/// Lets equal requests share one exchange, if the manager's `DuplicatedHandler` decides so.
///
/// A read that begins after a write to the same URL has completed never joins an exchange that began before the write completed. It could
/// get the state from before the write.
final class Coalesce: HTTPLoader {
    private let exchanges = Lock(ExchangeTable())
    private let ignoredHeaders: Set<String>
    private let clock: PipelineClock
    private let running: RunningRequests
    /// Returns the manager's current handler; `nil` to share GET, HEAD and OPTIONS.
    private let handler: @Sendable () -> (any DuplicatedHandler)?

    init(
        ignoringHeaders names: [String], clock: PipelineClock, running: RunningRequests,
        handler: @escaping @Sendable () -> (any DuplicatedHandler)?
    ) {
        // A hint about the order of responses does not change them.
        ignoredHeaders = Set(names.map { $0.lowercased() } + [HeaderName.priority.lowercased()])
        self.clock = clock
        self.running = running
        self.handler = handler
    }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        // An exchange runs in a task of its own. If a dropped request began one, the exchange could be sent before the drop reaches it.
        try Task.checkCancellation()
        // Also after a failed write, because the server may have acted on it.
        defer { closeReads(after: request) }
        while let share = try enter(request, next) {
            do {
                return next.context.call.shown(try await share.wait(), insteadOf: (share.exchange.call.request, request))
            } catch {
                try Self.check(error, of: share.exchange, in: next.context)
            }
        }
        return try await next(request)
    }

    @inline(never)
    private func closeReads(after request: HTTPRequest) {
        if request.method.isSafe { return }
        let target = RequestIdentity.normalized(request.url)
        exchanges.withLock { $0.closeReads(of: target) }
    }

    /// Throws an error of a shared exchange if it concerns this caller. If it does not, the caller begins again.
    @inline(never)
    private static func check(_ error: any Error, of exchange: SharedExchange, in context: CallContext) throws {
        let own = context.call.explain(error, sharedBy: exchange.call)
        switch own {
        // A download is judged by the validators of the caller who began it. If this caller's validators accept the response, it begins a
        // new exchange.
        case NessError.validation(let failure) where context.call.choices.kind == .download:
            // A file that is not the expected one is so for every caller: equal downloads expect the same.
            guard let response = failure.response, !(failure.underlying is FileMismatch) else { throw own }
            for validator in context.validators { try response.judge(by: validator) }
        default: throw own
        }
        try Task.checkCancellation()
    }

    func reset() async { exchanges.withLock { $0 = ExchangeTable() } }

    /// Returns this caller's share in an exchange; `nil` if the request is sent on its own.
    /// - Throws: `NessError.duplicate` if a decision excluded the caller.
    @inline(never)
    private func enter(_ request: HTTPRequest, _ next: HTTPNext) throws -> SharedExchange.Share? {
        let context = next.context
        let isMerged = request.method == .get || request.method == .head || request.method == .options
        let chosen = handler()
        // Such requests need no entry in the table.
        if (chosen as? DefaultDuplicatedHandler) == .requestAllSeparately { return nil }
        guard let handler = chosen ?? (isMerged ? DefaultDuplicatedHandler.keepAllCompletion : nil),
            let identity = RequestIdentity(request, in: context, ignoring: ignoredHeaders)
        else { return nil }
        while true {
            // Also after an exchange that a caller decided to join, and that has ended: a drop may have ended both.
            try Task.checkCancellation()
            guard let exchange = exchanges.withLock({ $0.running(identity) }) else {
                if let share = begin(request, identity, replacing: nil, next) { return share }
                continue
            }
            let duplicate = DuplicatedRequest(kind: context.call.choices.kind, request: request, callerCount: exchange.callerCount)
            let decision = handler.decide(on: duplicate)
            // Made where it is needed: a caller who joins, the most frequent case, needs none.
            func superseded() -> NessError { context.call.error(.duplicate, "set aside by the duplicate policy \(decision.name)") }
            switch decision {
            case .requestSeparately: return nil
            case .ignoreCurrentCompletion: throw superseded()
            case .useBothCompletion:
                guard let share = exchange.join(request, in: context) else { continue }
                return share
            case .useCurrentCompletion:
                guard let share = exchange.join(request, in: context) else { continue }
                exchange.excludeCallers(except: share, becauseOf: superseded())
                return share
            case .useCompletion(let completion):
                guard let share = exchange.join(request, in: context) else { continue }
                deliver(share, to: completion, in: context)
                exchange.excludeCallers(except: share, becauseOf: superseded())
                throw superseded()
            case .dropAndRequestAgain:
                guard let share = begin(request, identity, replacing: exchange, next) else { continue }
                exchange.excludeCallers(becauseOf: superseded())
                return share
            case .dropAndRequestAgainWithCompletion(let completion):
                guard let share = begin(request, identity, replacing: exchange, next) else { continue }
                deliver(share, to: completion, in: context)
                exchange.excludeCallers(becauseOf: superseded())
                throw superseded()
            }
        }
    }

    /// Has a completion get the outcome of a share. Like a caller's promise, it is dropped by `dropAllRequests()`, a reset and a shutdown:
    /// nothing else would end an exchange without other callers.
    private func deliver(
        _ share: SharedExchange.Share, to completion: @escaping @Sendable (Result<HTTPResponse, any Error>) -> Void,
        in context: CallContext
    ) {
        let call = context.call
        let promise = Promise<HTTPResponse>(makeDropError: { call.error(.dropped, "the request was cancelled") })
        promise.finally { value, error in
            if let value { completion(.success(value)) } else if let error { completion(.failure(error)) }
        }
        let id = running.add(promise, groups: call.choices.groups)
        promise.start {
            try await share.wait()
        } settled: { [running] _ in
            share.leave()
            running.remove(id)
        }
        // A reset may have dropped all requests just before this one was added.
        if running.refusal(of: call.choices.epoch) != nil { promise.drop() }
    }

    /// Begins an exchange if the exchange in flight is still `old`. Returns `nil` if another caller was faster.
    private func begin(
        _ request: HTTPRequest, _ identity: RequestIdentity, replacing old: SharedExchange?, _ next: HTTPNext
    ) -> SharedExchange.Share? {
        let exchange = SharedExchange(request, for: next.context.call, clock: clock)
        // The caller joins before others can see the exchange. An exchange without callers would be closed.
        guard let share = exchange.join(request, in: next.context) else { return nil }
        guard exchanges.withLock({ $0.insert(exchange, isRead: request.method.isSafe, for: identity, replacing: old) }) else {
            exchange.discard()
            return nil
        }
        let context = next.context.shared(exchange.call, exchange: exchange)
        exchange.start { [self] in
            let outcome: Result<HTTPResponse, any Error>
            do { outcome = .success(try await next(request, in: context)) } catch { outcome = .failure(error) }
            exchanges.withLock { $0.remove(exchange, for: identity) }
            return outcome
        }
        return share
    }
}
