/// The stages in their order, outermost first. This array is the order; nothing else knows it.
struct Pipeline: Sendable {
    let stages: [any HTTPLoader]

    /// The pipeline of a manager.
    /// - Parameters:
    ///   - configuration: What the manager was given.
    ///   - environment: Adds what the manager has for all its requests.
    ///   - running: Knows what is in flight.
    ///   - duplicatedHandler: The manager's handler at the moment.
    init(
        _ configuration: Ness.Configuration, environment: Environment, running: RunningRequests,
        duplicatedHandler: @escaping @Sendable () -> (any DuplicatedHandler)?
    ) {
        let clock = Timekeeper(configuration.clock)
        var stages: [any HTTPLoader] = [
            Observe(observers: configuration.observers),
            Deadline(clock: clock),
            Retry(
                observers: configuration.observers, clock: clock, ledger: RetryLedger(configuration.retryBudget, clock),
                fallback: configuration.retryControl),
            environment,
        ]
        stages += configuration.loaders
        stages.append(Authenticate(baseURL: configuration.baseURL, inherited: configuration.authentication))
        if let cache = configuration.cache { stages.append(Cache(cache, clock: clock, running: running)) }
        stages += [
            Coalesce(ignoringHeaders: configuration.headersIgnoredInDuplicates, handler: duplicatedHandler),
            Download(),
            Redirect(),
            OutgoingCheck(),
        ]
        if let limit = configuration.circuitBreaker { stages.append(CircuitBreaker(limit, clock: clock)) }
        if let limit = configuration.throttle { stages.append(Throttle(limit, clock: clock)) }
        stages += [
            HostQueue(limit: configuration.maximumConnectionsPerHost),
            UnaskedTimeout(),
            IdleTimeout(clock: clock),
            Exchange(transport: configuration.transport, maximumBytes: configuration.maximumResponseBytes, running: running),
        ]
        self.stages = stages
    }

    /// Has every stage forget what it keeps.
    func reset() async {
        for stage in stages { await stage.reset() }
    }

    /// Sends a request through all stages.
    func load(_ request: HTTPRequest) async throws -> HTTPResponse { try await load(request, from: 0) }

    private func load(_ request: HTTPRequest, from index: Int) async throws -> HTTPResponse {
        guard index < stages.count else { throw TransportError(.invalidRequest, "the pipeline has no transport") }
        return try await stages[index].load(request, next: HTTPNext { try await load($0, from: index + 1) })
    }
}
