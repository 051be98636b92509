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
        func isNeeded(by request: HTTPRequest) -> Bool { optional?.isNeeded(by: request) ?? true }
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
            (.cookies, configuration.cookies.map { [Cookies(jar: $0, isOnTheWire: false)] } ?? []),
            (.cache, configuration.cache.map { [Cache($0, clock: clock, running: running)] } ?? []),
            (.coalesce, [Coalesce(ignoringHeaders: configuration.headersIgnoredInDuplicates, handler: duplicatedHandler)]),
            (
                .redirect,
                [Download(running: running), Redirect()]
                    + (configuration.cookies.map { [Cookies(jar: $0, isOnTheWire: true)] } ?? [])
            ),
            (.check, [OutgoingCheck()]),
            (.circuitBreaker, configuration.circuitBreaker.map { [CircuitBreaker($0, clock: clock)] } ?? []),
            (.throttle, configuration.throttle.map { [Throttle($0, clock: clock)] } ?? []),
            (.hostQueue, [hostQueue]),
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

    /// Sends a request through all stages.
    func load(_ request: HTTPRequest) async throws -> HTTPResponse { try await HTTPNext(first, after: request)(request) }
}

/// A stage of the library's own that many requests have no need of: they pass by it at no cost.
protocol OptionalStage: HTTPLoader {
    /// Whether a request has to go through this stage.
    func isNeeded(by request: HTTPRequest) -> Bool
}

extension HTTPRequest {
    /// A request that a loader made itself belongs to the one that it was made for: what a reset ends, it ends too, who watches sees it, and
    /// it uses the same place with the host. Whoever takes the bytes takes none of those, but those of a changed copy, such as a redirect: the
    /// request of a response does not tell who that is.
    func adopted(by request: HTTPRequest) -> HTTPRequest {
        if epoch != nil { return replacing(request) }
        var adopted = self
        adopted.change { fields in
            fields.epoch = request.epoch
            fields.environment = fields.environment ?? request.environment
            fields.options.inherit(request.options)
            fields.attempt = request.attempt
            fields.observation = request.observation
            fields.activity = request.activity
            fields.place = request.place
        }
        return adopted
    }
}
