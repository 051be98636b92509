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
    /// Returns the manager's current handler; `nil` to share GET, HEAD and OPTIONS.
    private let handler: @Sendable () -> (any DuplicatedHandler)?

    init(ignoringHeaders names: [String], clock: PipelineClock, handler: @escaping @Sendable () -> (any DuplicatedHandler)?) {
        ignoredHeaders = Set(names.map { $0.lowercased() })
        self.clock = clock
        self.handler = handler
    }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        // An exchange runs in a task of its own. If a dropped request began one, the exchange could be sent before the drop reaches it.
        try Task.checkCancellation()
        // This also runs after a failed write, because the server may have acted on it.
        defer { if !request.method.isSafe { exchanges.withLock { $0.closeReads(of: request.url) } } }
        while let share = enter(request, next) {
            do {
                let response = try await share.promise.value
                return next.context.call.shown(response, insteadOf: share.exchange.map { ($0.call.request, request) })
            } catch {
                try Self.check(error, of: share, in: next.context)
            }
        }
        return try await next(request)
    }

    /// A caller's share in an exchange. `exchange` is `nil` if a decision excluded the caller.
    private struct Share: Sendable {
        let promise: Promise<HTTPResponse>
        var exchange: SharedExchange?
    }

    /// Throws an error of a shared exchange if it concerns this caller. If it does not, the caller begins again.
    @inline(never)
    private static func check(_ error: any Error, of share: Share, in context: CallContext) throws {
        let own = share.exchange.map { context.call.explain(error, sharedBy: $0.call) } ?? error
        switch own {
        // The other callers left while this one joined. This caller begins a new exchange, unless it was dropped, too.
        case is SharedExchangeEnded: break
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

    /// Returns this caller's share; `nil` if the request is sent on its own.
    @inline(never)
    private func enter(_ request: HTTPRequest, _ next: HTTPNext) -> Share? {
        let context = next.context
        let isMerged = request.method == .get || request.method == .head || request.method == .options
        guard let handler = handler() ?? (isMerged ? DefaultDuplicatedHandler.keepAllCompletion : nil),
            let identity = RequestIdentity(request, in: context, ignoring: ignoredHeaders)
        else { return nil }
        while true {
            guard let exchange = exchanges.withLock({ $0.running(identity) }) else {
                if let share = begin(request, identity, replacing: nil, next) { return share }
                continue
            }
            let duplicate = DuplicatedRequest(kind: context.call.choices.kind, request: request, callerCount: exchange.callerCount)
            let decision = handler.decide(on: duplicate)
            let superseded = context.call.error(.duplicate, "set aside by the duplicate policy \(decision.name)")
            switch decision {
            case .requestSeparately: return nil
            case .ignoreCurrentCompletion: return Share(promise: .rejected(superseded))
            case .useBothCompletion:
                guard let share = join(exchange, request, context) else { continue }
                return share
            case .useCurrentCompletion:
                guard let share = join(exchange, request, context) else { continue }
                exchange.excludeCallers(except: share.promise, becauseOf: superseded)
                return share
            case .useCompletion(let completion):
                Self.deliver(exchange.response, to: completion)
                exchange.excludeCallers(becauseOf: superseded)
                return Share(promise: .rejected(superseded))
            case .dropAndRequestAgain:
                guard let share = begin(request, identity, replacing: exchange, next) else { continue }
                exchange.excludeCallers(becauseOf: superseded)
                return share
            case .dropAndRequestAgainWithCompletion(let completion):
                guard let share = begin(request, identity, replacing: exchange, next) else { continue }
                exchange.excludeCallers(becauseOf: superseded)
                Self.deliver(share.promise, to: completion)
                return Share(promise: .rejected(superseded))
            }
        }
    }

    private func join(_ exchange: SharedExchange, _ request: HTTPRequest, _ context: CallContext) -> Share? {
        exchange.join(request, in: context).map { Share(promise: $0, exchange: exchange) }
    }

    private static func deliver(
        _ response: Promise<HTTPResponse>, to completion: @escaping @Sendable (Result<HTTPResponse, any Error>) -> Void
    ) {
        response.finally { value, error in
            if let value { completion(.success(value)) } else if let error { completion(.failure(error)) }
        }
    }

    /// Begins an exchange if the exchange in flight is still `old`. Returns `nil` if another caller was faster.
    private func begin(
        _ request: HTTPRequest, _ identity: RequestIdentity, replacing old: SharedExchange?, _ next: HTTPNext
    ) -> Share? {
        let exchange = SharedExchange(request, for: next.context.call, clock: clock)
        // The caller joins before others can see the exchange. An exchange without callers would be dropped.
        guard let share = join(exchange, request, next.context) else { return nil }
        guard exchanges.withLock({ $0.insert(exchange, of: request, for: identity, replacing: old) }) else {
            // The share is dropped, because it and its exchange would retain each other.
            share.promise.drop()
            return nil
        }
        let context = next.context.shared(exchange.call, exchange: exchange)
        exchange.response.start(inheritingTaskLocals: false) {
            try await next(request, in: context)
        } settled: { [self] _ in
            exchanges.withLock { $0.remove(exchange, for: identity) }
        }
        return share
    }
}

/// The exchanges in flight that callers may join, by identity. Reads can also be found by target.
private struct ExchangeTable: Sendable {
    private var exchanges: [RequestIdentity: (exchange: SharedExchange, target: String?)] = [:]
    private var reads: [String: Set<RequestIdentity>] = [:]

    /// Returns the exchange that an equal request may join.
    func running(_ identity: RequestIdentity) -> SharedExchange? {
        guard let exchange = exchanges[identity]?.exchange, exchange.isOpen else { return nil }
        return exchange
    }

    /// Adds an exchange. Returns false if the exchange in flight is no longer `old`.
    mutating func insert(
        _ exchange: SharedExchange, of request: HTTPRequest, for identity: RequestIdentity, replacing old: SharedExchange?
    ) -> Bool {
        guard running(identity) === old else { return false }
        forget(identity)
        let target = request.method.isSafe ? RequestIdentity.normalized(request.url) : nil
        exchanges[identity] = (exchange, target)
        if let target { reads[target, default: []].insert(identity) }
        return true
    }

    mutating func remove(_ exchange: SharedExchange, for identity: RequestIdentity) {
        if exchanges[identity]?.exchange === exchange { forget(identity) }
    }

    private mutating func forget(_ identity: RequestIdentity) {
        guard let target = exchanges.removeValue(forKey: identity)?.target else { return }
        reads[target]?.remove(identity)
        if reads[target]?.isEmpty == true { reads[target] = nil }
    }

    /// Closes the reads of a target to new callers. Callers who have joined keep waiting.
    mutating func closeReads(of url: URL) {
        if reads.isEmpty { return }
        for identity in reads.removeValue(forKey: RequestIdentity.normalized(url)) ?? [] { exchanges[identity] = nil }
    }
}
