import Foundation

typealias Sharing = SharingStep<Flight>

/// The steps that every request of a manager takes, and the state that the requests share.
///
/// A request goes through three functions, a file each: `attempts`, `redirects` and `exchange`. What does not have to wait is a synchronous step
/// that they call. What neither the configuration nor the request uses is `nil` or empty, and costs a request nothing.
final class Pipeline: Sendable {
    let clock: PipelineClock
    let running: RunningRequests
    let waiting: WaitingRequests
    /// The application's loaders.
    let loaders: PlacedLoaders

    // The steps of an attempt.
    let ledger: RetryLedger
    /// The manager's retry policy, for requests that set none.
    let retryControl: (any RetryControl)?
    let preparation: RequestPreparation
    /// Returns the manager, for authentications that send requests with it; `nil` if it has been released.
    let manager: @Sendable () -> (any AnyObject & Sendable)?
    let jar: CookieJar?
    let cache: CacheStep?
    let sharing: Sharing

    let exchanges: ExchangeStep

    /// Makes the pipeline of a manager.
    /// - Parameters:
    ///   - configuration: The manager's configuration.
    ///   - clock: The clock of every wait and timeout.
    ///   - preparation: Adds the manager's common settings to each request.
    ///   - running: The registry of the requests in flight.
    ///   - waiting: The numbers of waiting requests.
    ///   - manager: Returns the manager; `nil` if it has been released.
    ///   - duplicatedHandler: Returns the manager's current handler.
    init(
        _ configuration: PipelineConfiguration, clock: PipelineClock, preparation: RequestPreparation, running: RunningRequests,
        waiting: WaitingRequests, manager: @escaping @Sendable () -> (any AnyObject & Sendable)?,
        duplicatedHandler: @escaping @Sendable () -> (any DuplicatedHandler)?
    ) {
        self.clock = clock
        self.running = running
        self.waiting = waiting
        self.preparation = preparation
        self.manager = manager
        loaders = configuration.loaders
        ledger = RetryLedger(configuration.retryBudget, clock)
        retryControl = configuration.retryControl
        jar = configuration.cookies
        cache = configuration.cache.map { CacheStep($0, clock: clock) }
        sharing = Sharing(ignoringHeaders: configuration.headersIgnoredInDuplicates, handler: duplicatedHandler)
        configuration.cache?.add(sharing) { [weak sharing] in sharing?.closeReads(of: $0) }
        exchanges = ExchangeStep(configuration, ledger: ledger, running: running, waiting: waiting, clock: clock)
    }

    /// Discards the state that the steps and loaders keep between requests.
    func reset() async {
        for loader in loaders.all { await loader.reset() }
        ledger.reset()
        jar?.removeAll()
        await cache?.reset()
        sharing.reset()
        exchanges.reset()
    }

    /// The steps above the flights.
    var steps: Execution.Steps {
        let awaitsApplication = loaders.areAboveSharing || retryControl != nil
        return Execution.Steps(
            continueAfterFlights: awaitsApplication || cache != nil, awaitApplication: awaitsApplication || cache?.hasStorage == true)
    }

    /// Returns the loaders of the manager and of the request at one place.
    @inline(__always)
    func loaders(at place: LoaderPlace, _ context: CallContext) -> [any HTTPLoader] {
        guard let overrides = context.call.options.overrides else { return loaders[place] }
        return loaders[place] + overrides.loaders[place]
    }
}

/// The part of a manager's configuration that its pipeline uses.
struct PipelineConfiguration: Sendable {
    var loaders: PlacedLoaders
    var retryBudget: RetryBudget
    var retryControl: (any RetryControl)?
    var cookies: CookieJar?
    var cache: HTTPCache?
    var headersIgnoredInDuplicates: [String]
    var circuitBreaker: CircuitBreakerLimit?
    var throttle: ThrottleLimit?
    var limitGroup: (@Sendable (HTTPRequest) -> LimitGroup?)?
    var maximumConnectionsPerHost: Int
    var maximumConcurrentRequests: Int?
    var wire: Wire
}
