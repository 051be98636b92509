/// The stages in their order, outermost first. This array is the order; nothing else knows it.
struct Pipeline: Sendable {
    private let first: Step

    /// One stage, and the way on from it.
    final class Step: Sendable {
        let loader: any HTTPLoader
        let next: Step?
        private let optional: (any OptionalStage)?

        init(_ loader: any HTTPLoader, next: Step?) {
            self.loader = loader
            self.next = next
            optional = loader as? any OptionalStage
        }

        /// Whether a request has to go through it.
        func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool {
            optional?.isNeeded(by: request, in: context) ?? true
        }
    }

    /// The pipeline of a manager.
    /// - Parameters:
    ///   - configuration: What the manager was given.
    ///   - environment: Adds what the manager has for all its requests.
    ///   - hostQueue: Keeps the limit of connections.
    ///   - running: Knows what is in flight.
    ///   - observers: The manager's observers at the moment.
    ///   - duplicatedHandler: The manager's handler at the moment.
    init(
        _ configuration: Ness.Configuration, environment: Environment, hostQueue: HostQueue, running: RunningRequests,
        observers: @escaping @Sendable () -> [any RequestObserver],
        duplicatedHandler: @escaping @Sendable () -> (any DuplicatedHandler)?
    ) {
        let clock = Timekeeper(configuration.clock)
        let breaker = configuration.circuitBreaker.map { CircuitBreaker($0, clock: clock) }
        let order: [(PipelineStage, [any HTTPLoader])] = [
            (.observe, [Observe(observers: observers, clock: clock)]),
            (.deadline, [Deadline(clock: clock)]),
            (
                .retry,
                [
                    Retry(
                        clock: clock, ledger: RetryLedger(configuration.retryBudget, clock), fallback: configuration.retryControl)
                ]
            ),
            (.environment, [environment]),
            (.authenticate, [Authenticate()]),
            (.cookies, configuration.cookies.map { [Cookies(jar: $0)] } ?? []),
            (.cache, configuration.cache.map { [Cache($0, clock: clock, running: running)] } ?? []),
            (.coalesce, [Coalesce(ignoringHeaders: configuration.headersIgnoredInDuplicates, clock: clock, handler: duplicatedHandler)]),
            (.download, [Download(running: running)]),
            (.redirect, [Redirect()]),
            (.redirectCookies, configuration.cookies.map { [RedirectCookies(jar: $0)] } ?? []),
            (.check, [OutgoingCheck()]),
            (.circuitBreaker, breaker.map { [CircuitBreakerGate(breaker: $0)] } ?? []),
            (.throttle, configuration.throttle.map { [Throttle($0, clock: clock)] } ?? []),
            (.hostQueue, [hostQueue] + (breaker.map { [$0] } ?? [])),
            (.timers, [UnaskedTimeout(), IdleTimeout(clock: clock)]),
        ]
        var stages: [any HTTPLoader] = []
        for (name, loaders) in order {
            // The caller's own stand where they have what the manager adds, and no credential yet.
            if name == .authenticate { stages += configuration.loaders }
            stages += configuration.inserted.filter { $0.place == .before(name) }.map(\.loader)
            stages += loaders
            stages += configuration.inserted.filter { $0.place == .after(name) }.map(\.loader)
        }
        let exchange = Exchange(transport: configuration.transport, maximumBytes: configuration.maximumResponseBytes, running: running)
        first = stages.reversed().reduce(Step(exchange, next: nil)) { Step($1, next: $0) }
    }

    /// Has every stage forget what it keeps.
    func reset() async {
        var step: Step? = first
        while let present = step {
            await present.loader.reset()
            step = present.next
        }
    }

    /// Sends a call's request through all stages.
    func load(_ call: Call) async throws -> HTTPResponse {
        try await HTTPNext(first, in: CallContext(call))(call.request)
    }
}

/// A stage of the library's own that many requests do not need: they pass by it at no cost.
protocol OptionalStage: HTTPLoader {
    /// Returns true if a request has to go through this stage.
    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool
}
