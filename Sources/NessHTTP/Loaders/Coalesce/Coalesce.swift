import NessPromise

/// Has equal requests share one exchange, or not: as the manager's `DuplicatedHandler` decides.
final class Coalesce: HTTPLoader {
    private let flights = Lock<[RequestIdentity: Flight]>([:])
    private let ignoredHeaders: Set<String>
    /// The manager's handler at the moment; nil merges the safe methods.
    private let handler: @Sendable () -> (any DuplicatedHandler)?

    init(ignoringHeaders names: [String], handler: @escaping @Sendable () -> (any DuplicatedHandler)?) {
        ignoredHeaders = Set(names.map { $0.lowercased() })
        self.handler = handler
    }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        // An exchange has a task of its own: begun by a request that was dropped it would be sent before it learns of that.
        try Task.checkCancellation()
        while let promise = enter(request, next) {
            do {
                return try await promise.value
            } catch {
                try Self.check(error, letsAgain: request)
            }
        }
        return try await next(request)
    }

    /// Throws an error if it is the request's, and not that of others.
    @inline(never)
    private static func check(_ error: any Error, letsAgain request: HTTPRequest) throws {
        switch error {
        // The others left while we came. We begin anew, unless it is we who left.
        case is FlightEnded: break
        // A download is judged while it comes, by the validators of whoever began it. Who has others begins anew.
        case NessError.validation(let context) where request.kind == .download:
            guard let response = context.response else { throw error }
            for validator in request.validators { try response.judge(by: validator) }
        default: throw error
        }
        try Task.checkCancellation()
    }

    func reset() async { flights.withLock { $0 = [:] } }

    /// The promise of this caller; nil where the request goes its own way.
    @inline(never)
    private func enter(_ request: HTTPRequest, _ next: HTTPNext) -> Promise<HTTPResponse>? {
        let isMerged = request.method == .get || request.method == .head || request.method == .options
        guard let handler = handler() ?? (isMerged ? DefaultDuplicatedHandler.keepAllCompletion : nil),
            let identity = RequestIdentity(request, ignoring: ignoredHeaders)
        else { return nil }
        while true {
            guard let flight = running(identity) else {
                if let promise = begin(request, identity, replacing: nil, next) { return promise }
                continue
            }
            let duplicate = DuplicatedRequest(kind: request.kind, request: request, callerCount: flight.callerCount)
            let decision = handler.decide(on: duplicate)
            let aside = NessError.duplicate(
                NessError.Context(request: request, reason: "set aside by the duplicate policy \(decision.name)"))
            switch decision {
            case .requestSeparately: return nil
            case .ignoreCurrentCompletion: return .rejected(aside)
            case .useBothCompletion: return flight.join(request)
            case .useCurrentCompletion:
                let promise = flight.join(request)
                flight.setAside(except: promise, becauseOf: aside)
                return promise
            case .useCompletion(let completion):
                Self.deliver(flight.response, to: completion)
                flight.setAside(becauseOf: aside)
                return .rejected(aside)
            case .dropAndRequestAgain:
                guard let promise = begin(request, identity, replacing: flight, next) else { continue }
                flight.setAside(becauseOf: aside)
                return promise
            case .dropAndRequestAgainWithCompletion(let completion):
                guard let promise = begin(request, identity, replacing: flight, next) else { continue }
                flight.setAside(becauseOf: aside)
                Self.deliver(promise, to: completion)
                return .rejected(aside)
            }
        }
    }

    private static func deliver(_ response: Promise<HTTPResponse>, to completion: @escaping RequestDuplicatedDecision.Completion) {
        response.finally { value, error in
            if let value { completion(.success(value)) } else if let error { completion(.failure(error)) }
        }
    }

    private func running(_ identity: RequestIdentity) -> Flight? {
        flights.withLock { flights in
            guard let flight = flights[identity], !flight.response.isCompleted else { return nil }
            return flight
        }
    }

    /// Begins an exchange, if the one that is known is still `old`. Returns nil if another caller was quicker.
    private func begin(
        _ request: HTTPRequest, _ identity: RequestIdentity, replacing old: Flight?, _ next: HTTPNext
    ) -> Promise<HTTPResponse>? {
        let flight = Flight()
        // Before anyone else can see it: an exchange that nobody waits for would be dropped.
        let promise = flight.join(request)
        let isFirst = flights.withLock { flights in
            let known = flights[identity].flatMap { $0.response.isCompleted ? nil : $0 }
            guard known === old else { return false }
            flights[identity] = flight
            return true
        }
        guard isFirst else { return nil }
        var shared = request
        shared.activity = flight.activity
        flight.response.start { [shared] in
            try await next(shared)
        } settled: { [self] _ in
            flights.withLock { flights in
                if flights[identity] === flight { flights[identity] = nil }
            }
        }
        return promise
    }
}
