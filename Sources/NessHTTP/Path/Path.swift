/// The path of a request: the steps in their order.
///
/// | once | step | type |
/// |---|---|---|
/// | a call | loaders at `.call`: what must outlive an attempt | `HTTPLoader` |
/// | an attempt | base URL, default headers, delegate | `RequestPreparation` |
/// | | loaders at `.attempt`: a hedge sends here twice | |
/// | | resumable upload: the requests that are left of it, each with all that follows | `UploadJob` |
/// | | credential, and its renewal after a rejection | `CredentialStep` |
/// | | cookies | `CookieJar` |
/// | | loaders at `.authenticated`: a signature that tells users apart for the cache and duplicates | |
/// | | cache: what may be stored and for how long is in `CachedResponse` | `CacheStep` |
/// | | validators, decision about another attempt | `RetryStep`, `RetryLedger` |
/// | all who share it | flight: joined or started | `FlightStep`, `FlightTable` |
/// | | download: all that a pause keeps | `DownloadJob` |
/// | | redirects; for the target, cookies and cache again | `RedirectHistory` |
/// | an exchange | `OutgoingCheck`, circuit breaker, queues by `LimitGroup` and host, throttle | `ExchangeStep` |
/// | | loaders at `.exchange`: a span sees the request as it is sent | |
/// | | wire; `ResponseCollector` takes what it receives | `Wire`, `Transport` |
///
/// Each step is declared in the folder of its feature. The steps that use the `Call` (preparation, retry, flight, exchange) are declared in
/// this folder. Behavior that only some requests need is a loader, not a step.
///
/// Each step calls the next one. A step that never suspends is a synchronous function. A step that neither the configuration nor the
/// request uses is `nil` or empty, and costs a request nothing.
final class Pipeline: Sendable {
    /// The application's loaders.
    private let loaders: PlacedLoaders
    private let preparation: RequestPreparation
    private let credentials: CredentialStep
    private let jar: CookieJar?
    private let cache: CacheStep?
    private let retry: RetryStep
    private let flights: FlightStep
    /// The clock of every wait and timeout.
    let clock: PipelineClock
    /// The registry of the requests in flight.
    let running = RunningRequests()
    /// The numbers of waiting requests, by what they wait for.
    let waiting = WaitingRequests()

    /// Makes the pipeline of a manager.
    /// - Parameters:
    ///   - configuration: The manager's configuration.
    ///   - clock: The clock of every wait and timeout.
    ///   - preparation: Adds the manager's common settings to each request.
    ///   - manager: Returns the manager; `nil` if it has been released.
    ///   - duplicatedHandler: Returns the manager's current handler.
    ///   - observers: Returns the manager's current observers.
    init(
        _ configuration: PipelineConfiguration, clock: PipelineClock, preparation: RequestPreparation,
        manager: @escaping @Sendable () -> (any AnyObject & Sendable)?,
        duplicatedHandler: @escaping @Sendable () -> (any DuplicatedHandler)?, observers: @escaping @Sendable () -> [any RequestObserver]
    ) {
        self.clock = clock
        self.preparation = preparation
        loaders = configuration.loaders
        jar = configuration.cookies
        cache = configuration.cache.map { CacheStep($0, clock: clock) }
        credentials = CredentialStep(manager: manager, waiting: waiting, clock: clock)
        let ledger = RetryLedger(configuration.retryBudget, clock)
        retry = RetryStep(configuration.retryControl, ledger: ledger, clock: clock)
        let table = FlightTable(ignoringHeaders: configuration.headersIgnoredInDuplicates, handler: duplicatedHandler)
        configuration.cache?.add(table) { [weak table] in table?.closeReads(of: $0) }
        let exchanges = ExchangeStep(configuration, ledger: ledger, running: running, waiting: waiting, clock: clock, observers: observers)
        flights = FlightStep(table, ledger: ledger, jar: jar, cache: cache, exchanges: exchanges, running: running, clock: clock)
    }

    /// Discards the state that the steps and loaders keep between requests.
    func reset() async {
        for loader in loaders.all { await loader.reset() }
        retry.ledger.reset()
        jar?.removeAll()
        await cache?.reset()
        flights.reset()
    }

    /// The slots of each host.
    var hosts: Limiter<ParsedURL.Origin> { flights.exchanges.hosts }

    /// The work that the manager's steps above the flights do: see `Execution.Steps`.
    var steps: Execution.Steps {
        let awaitsApplication = loaders.areAboveSharing || retry.control != nil
        return Execution.Steps(
            continueAfterFlights: awaitsApplication || cache != nil, awaitApplication: awaitsApplication || cache?.hasStorage == true)
    }

    /// Returns the loaders of the manager and of the request at one place.
    @inline(__always)
    private func loaders(at place: LoaderPlace, _ context: CallContext) -> [any HTTPLoader] {
        guard let overrides = context.call.options.overrides else { return loaders[place] }
        return loaders[place] + overrides.loaders[place]
    }

    // MARK: once a call

    /// Sends a call's request.
    func send(_ call: Call) async throws -> HTTPResponse {
        try call.begin(in: running)
        let context = CallContext(call)
        let loaders = loaders(at: .call, context)
        if loaders.isEmpty { return try await attempts(call.request, context, since: retry.begin()) }
        return try await loaders.load(call.request, in: context) { [self] request, context in
            try await attempts(request, context, since: retry.begin())
        }
    }

    /// Makes attempts until one succeeds or the retry policy decides to stop. Each attempt starts from the request as the caller made it,
    /// and the caller's validators judge its response.
    /// - Parameters:
    ///   - request: The request.
    ///   - context: The context.
    ///   - start: The start of the first attempt.
    /// - Throws: The error of the last attempt; `Call.Postponed` if another task makes the remaining attempts.
    @inline(never)
    private func attempts(_ request: HTTPRequest, _ context: CallContext, since start: Duration) async throws -> HTTPResponse {
        var context = context
        while true {
            let outcome: Result<HTTPResponse, any Error>
            context.call.beginAttempt()
            do {
                let response = try await attempt(preparation.prepared(request, in: context), context)
                // A pause ended the flight with an error, but a loader may have turned that error into a response. The attempt must still
                // wait for the resume.
                if context.call.isInterrupted { throw Call.Paused() }
                outcome = .success(response)
            } catch {
                outcome = .failure(error)
            }
            if case .failure = outcome, try await context.call.waitWhilePaused() { continue }
            switch retry.evaluated(outcome, of: request, in: context, since: start) {
            case .success(let response): return response
            case .failure(let failure):
                context.attempt += 1
                switch await retry.decide(after: failure, in: context) {
                case .end(let last): return try retry.result(of: last, in: context)
                case .again(let delay): try await wait(delay, context, for: request, since: start)
                }
            }
        }
    }

    /// Waits before the next attempt. Most waits move to another task: see `Call.Postponed`.
    /// - Throws: `CancellationError` after the end of the call; `Call.Postponed` if another task waits and makes the attempt.
    @inline(never)
    private func wait(_ delay: Duration, _ context: CallContext, for request: HTTPRequest, since start: Duration) async throws {
        guard delay > .zero, context.call.options.execution != .caller, loaders(at: .call, context).isEmpty else {
            return delay > .zero ? try await context.call.wait(delay) : try Task.checkCancellation()
        }
        throw Call.Postponed(delay: delay) { [self] in try await attempts(request, context, since: start) }
    }

    // MARK: each attempt

    // Steps that every request takes are inlined into one function. Steps that most requests skip are not: the async frame of a function
    // has room for everything that is inlined into it, and a waiting request keeps its frame.

    /// Makes one attempt at a request with the manager's common settings.
    @inline(never)
    private func attempt(_ request: HTTPRequest, _ context: CallContext) async throws -> HTTPResponse {
        let loaders = loaders(at: .attempt, context)
        if loaders.isEmpty { return try await transferred(request, context) }
        return try await loaders.load(request, in: context) { [self] in try await transferred($0, $1) }
    }

    /// Continues with the steps of a resumable upload, or with the request itself.
    @inline(__always)
    private func transferred(_ request: HTTPRequest, _ context: CallContext) async throws -> HTTPResponse {
        guard let job = context.upload else { return try await authenticated(request, context) }
        return try await upload(request, by: job, context)
    }

    @inline(never)
    private func upload(_ request: HTTPRequest, by job: UploadJob, _ context: CallContext) async throws -> HTTPResponse {
        let receivesInterim = (context.transport ?? flights.exchanges.wire.transport).reportsInterimResponses
        return try await job.run(
            CallUploadAttempt(request: request, context: context, receivesInterimResponses: receivesInterim) { [self] in
                try await authenticated($0, $1)
            })
    }

    /// Continues with the credential.
    @inline(__always)
    private func authenticated(_ request: HTTPRequest, _ context: CallContext) async throws -> HTTPResponse {
        let authentication = context.authentication(for: request)
        // This clears an earlier failure to renew the credential: a loader may send the request again after it.
        context.call.beginAuthentication(isPresent: authentication != nil)
        guard let authentication else { return try await identified(request, context) }
        return try await authenticated(request, by: authentication, context)
    }

    @inline(never)
    private func authenticated(
        _ request: HTTPRequest, by authentication: any Authentication, _ context: CallContext
    ) async throws -> HTTPResponse {
        var context = context
        if case .inherited = context.options.authentication { context.credentialScope = context.options.environment.baseURL }
        do {
            let attempt = CredentialAttempt(context: context, running: running, hasReplacement: cache != nil, next: identified)
            return try await credentials.send(request, by: authentication, for: attempt)
        } catch {
            // Offline, the credential cannot be refreshed, but the cache may have a response for this user.
            guard let error = error as? NessError, error.isAuthenticationFailure, error.isTransient, let cache,
                let user = authentication.userIdentifier
            else { throw error }
            var request = request
            addCookies(to: &request, &context)
            guard let stored = await cache.answer(toUser: user, request, over: CacheUpstream(flights: flights, context: context)) else {
                throw error
            }
            return stored
        }
    }

    /// Adds the cookies, which together with the credential tell users apart, and continues.
    @Sendable @inline(__always)
    private func identified(_ request: HTTPRequest, _ context: CallContext) async throws -> HTTPResponse {
        var (request, context) = (request, context)
        addCookies(to: &request, &context)
        let loaders = loaders(at: .authenticated, context)
        if loaders.isEmpty { return try await cached(request, context) }
        return try await loaders.load(request, in: context) { [self] in try await cached($0, $1) }
    }

    @inline(__always)
    private func addCookies(to request: inout HTTPRequest, _ context: inout CallContext) {
        guard let jar else { return }
        let cookies = JarCookies()
        request = jar.adding(to: request, known: cookies)
        context.cookies = cookies
    }

    /// Continues with the cache, and below it with a flight.
    // Not inlined: the frames of a task lie in slabs of 984 bytes, and a frame of more than half of one wastes the rest.
    @inline(never)
    private func cached(_ request: HTTPRequest, _ context: CallContext) async throws -> HTTPResponse {
        guard let cache else { return try await flights.share(request, context) }
        return try await cache.load(request, over: CacheUpstream(flights: flights, context: context))
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
