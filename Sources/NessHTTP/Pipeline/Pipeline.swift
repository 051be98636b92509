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
        let order: [(PipelineStage, [any HTTPLoader])] = [
            (.observe, [Observe(observers: configuration.observers, clock: clock)]),
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
            (.cache, configuration.cache.map { [Cache($0, clock: clock, running: running)] } ?? []),
            (.coalesce, [Coalesce(ignoringHeaders: configuration.headersIgnoredInDuplicates, handler: duplicatedHandler)]),
            (.redirect, [Download(), Redirect()]),
            (.check, [OutgoingCheck()]),
            (.circuitBreaker, configuration.circuitBreaker.map { [CircuitBreaker($0, clock: clock)] } ?? []),
            (.throttle, configuration.throttle.map { [Throttle($0, clock: clock)] } ?? []),
            (.hostQueue, [HostQueue(limit: configuration.maximumConnectionsPerHost)]),
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
        stages.append(Exchange(transport: configuration.transport, maximumBytes: configuration.maximumResponseBytes, running: running))
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
        return try await stages[index].load(request, next: HTTPNext { try await load($0.adopted(by: request), from: index + 1) })
    }
}

extension HTTPRequest {
    /// A request that a loader made itself belongs to the one that it was made for: what a reset ends, it ends too, who watches sees it, and
    /// it uses the same place with the host.
    fileprivate func adopted(by request: HTTPRequest) -> HTTPRequest {
        guard epoch == nil else { return self }
        var adopted = self
        adopted.epoch = request.epoch
        if adopted.environment == nil { adopted.environment = request.environment }
        adopted.options.inherit(request.options)
        adopted.attempt = request.attempt
        adopted.observation = request.observation
        adopted.activity = request.activity
        adopted.place = request.place
        return adopted
    }
}
