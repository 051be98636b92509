extension Pipeline {
    /// Makes the pipeline of a manager. The array in it is the order of the stages; nothing else knows it.
    /// - Parameters:
    ///   - configuration: The manager's configuration.
    ///   - clock: The clock of every wait.
    ///   - environment: Adds what the manager has for all its requests.
    ///   - hostQueue: Keeps the limit of connections.
    ///   - running: Knows what is in flight.
    ///   - observers: The manager's observers at the moment.
    ///   - duplicatedHandler: The manager's handler at the moment.
    init(
        _ configuration: Ness.Configuration, clock: Timekeeper, environment: Environment, hostQueue: HostQueue, running: RunningRequests,
        observers: @escaping @Sendable () -> [any RequestObserver],
        duplicatedHandler: @escaping @Sendable () -> (any DuplicatedHandler)?
    ) {
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
            (.download, [Download(clock: clock, running: running, transport: configuration.transport)]),
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
        self.init(stages, exchange: exchange)
    }
}
