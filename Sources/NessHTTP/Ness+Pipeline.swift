extension Pipeline {
    /// Makes the pipeline of a manager. The array in it is the only definition of the order of the stages.
    /// - Parameters:
    ///   - configuration: The manager's configuration.
    ///   - clock: The clock of every wait and timeout.
    ///   - environment: The stage that adds the manager's common settings to each request.
    ///   - manager: Returns the manager; `nil` if it has been released.
    ///   - hostQueue: The stage that limits the exchanges with each origin.
    ///   - running: The registry of the requests in flight.
    ///   - waiting: The numbers of waiting requests.
    ///   - observers: Returns the manager's current observers.
    ///   - duplicatedHandler: Returns the manager's current handler.
    init(
        _ configuration: Ness.Configuration, clock: PipelineClock, environment: Environment,
        manager: @escaping @Sendable () -> (any AnyObject & Sendable)?, hostQueue: HostQueue, running: RunningRequests,
        waiting: WaitingRequests, observers: @escaping @Sendable () -> [any RequestObserver],
        duplicatedHandler: @escaping @Sendable () -> (any DuplicatedHandler)?
    ) {
        let breaker = configuration.circuitBreaker.map { CircuitBreaker($0, clock: clock) }
        let limit: [any HTTPLoader] = configuration.maximumConcurrentRequests.map { [RequestLimit($0, waiting: waiting)] } ?? []
        let order: [(PipelineStage, [any HTTPLoader])] = [
            (.observe, [Observe(observers: observers, clock: clock), ListenToHeads()]),
            (.deadline, [Deadline(clock: clock)]),
            (
                .retry,
                [
                    Retry(
                        clock: clock, ledger: RetryLedger(configuration.retryBudget, clock), fallback: configuration.retryControl)
                ]
            ),
            (.environment, [environment]),
            (.authenticate, [Authenticate(manager: manager)]),
            (.cookies, configuration.cookies.map { [Cookies(jar: $0)] } ?? []),
            (.cache, configuration.cache.map { [Cache($0, clock: clock, running: running)] } ?? []),
            (
                .coalesce,
                [
                    Coalesce(
                        ignoringHeaders: configuration.headersIgnoredInDuplicates, clock: clock, running: running,
                        handler: duplicatedHandler)
                ]
            ),
            (.download, [Download(clock: clock, running: running, transport: configuration.transport)]),
            (.redirect, [Redirect()]),
            (.redirectCookies, configuration.cookies.map { [RedirectCookies(jar: $0)] } ?? []),
            (.check, [OutgoingCheck()]),
            (.circuitBreaker, breaker.map { [CircuitBreakerGate(breaker: $0)] } ?? []),
            (.throttle, configuration.throttle.map { [Throttle($0, clock: clock, waiting: waiting)] } ?? []),
            (.hostQueue, [hostQueue] + limit + (breaker.map { [$0] } ?? [])),
            (.timers, [StaleTimeoutRetry(), IdleTimeout(clock: clock)]),
        ]
        var stages: [any HTTPLoader] = []
        for (name, loaders) in order {
            // The application's loaders see the request with the manager's settings, but without a credential.
            if name == .authenticate { stages += configuration.loaders + [OwnLoaders()] }
            stages += configuration.inserted.filter { $0.place == .before(name) }.map(\.loader)
            stages += loaders
            let after = configuration.inserted.filter { $0.place == .after(name) }.map(\.loader)
            if name == .timers, !after.isEmpty { stages.append(AbandonableStages()) }
            stages += after
        }
        // What the application's loaders below the check have changed is checked like any other request.
        let lower = PipelineStage.allCases.drop { $0 != .check }.dropFirst()
        let isChanged = configuration.inserted.contains { $0.place == .after(.check) || lower.contains($0.place.stage) }
        if isChanged { stages.append(OutgoingCheck()) }
        let exchange = Exchange(
            transport: configuration.transport, serverTrust: configuration.serverTrust, identities: configuration.clientIdentities,
            maximumBytes: configuration.maximumResponseBytes, running: running)
        self.init(stages, exchange: exchange)
    }
}
