import Foundation

/// Sends one request and receives its response on the wire.
///
/// The order: the check of the request, the circuit breaker, the queues of the group, the host and the manager, the throttle, the breaker
/// again, the application's loaders, the wire. A step that the manager does not configure is `nil`.
final class ExchangeStep: Sendable {
    private let loaders: [any HTTPLoader]
    private let groups: LimitGroups?
    private let breaker: CircuitBreaker?
    private let throttle: Throttle?
    let hosts: Limiter<ParsedURL.Origin>
    private let total: Limiter<Int>?
    let wire: Wire
    private let jar: CookieJar?
    private let ledger: RetryLedger
    private let running: RunningRequests
    private let waiting: WaitingRequests
    private let clock: PipelineClock

    /// Makes the step of a manager.
    /// - Parameters:
    ///   - configuration: The manager's configuration.
    ///   - ledger: Counts the requests that a loader sends again before it has a response.
    ///   - running: The registry of the requests in flight.
    ///   - waiting: The numbers of waiting requests.
    ///   - clock: The clock of every wait and timeout.
    ///   - observers: Returns the manager's observers, for the circuit breaker.
    init(
        _ configuration: PipelineConfiguration, ledger: RetryLedger, running: RunningRequests, waiting: WaitingRequests,
        clock: PipelineClock, observers: @escaping @Sendable () -> [any RequestObserver]
    ) {
        loaders = configuration.loaders[.exchange]
        groups = configuration.limitGroup.map { LimitGroups($0) }
        let hasGroups = groups != nil
        breaker =
            hasGroups || configuration.circuitBreaker != nil
            ? CircuitBreaker(configuration.circuitBreaker, clock: clock) { change in
                for observer in observers() { observer.circuitBreakerDidChange(change) }
            } : nil
        throttle = hasGroups || configuration.throttle != nil ? Throttle(configuration.throttle, clock: clock) : nil
        hosts = Limiter(limit: configuration.maximumConnectionsPerHost)
        total = configuration.maximumConcurrentRequests.map { Limiter(limit: $0) }
        wire = configuration.wire
        jar = configuration.cookies
        self.ledger = ledger
        self.running = running
        self.waiting = waiting
        self.clock = clock
    }

    func reset() {
        breaker?.reset()
        throttle?.reset()
    }

    /// The lane of a host, and the wait for a slot in it; `nil` if a slot was free.
    private typealias HostPlace = (lane: Limiter<ParsedURL.Origin>.Lane, waiter: Waiter?)

    // A waiting request keeps the async frames of its callers. `send` awaits the response itself, after the frame of `waitForTurn` is gone.
    // Synchronous steps are functions that are not inlined, because an async frame would otherwise have room for their variables.

    /// Checks a request, waits for its slots, and sends it.
    /// - Parameters:
    ///   - sink: Takes the response's body as it arrives; `nil` to collect it in memory.
    ///   - bytesBefore: The number of bytes in the bodies of the redirects that led to the request.
    @inline(never)
    func send(_ request: HTTPRequest, _ flight: Flight, _ sink: (any BodySink)?, bytesBefore: Int) async throws -> HTTPResponse {
        let request = try checked(request, sink)
        var isRepeated = false
        while true {
            let exchange = try makeExchange(request, flight, sink, bytesBefore)
            defer { exchange.finish() }
            try flight.add(exchange)
            try await waitForTurn(request, exchange)
            do {
                let work = try beginWork(request, flight.context)
                defer { if let work { running.endWork(work) } }
                let response =
                    work != nil
                    ? try await wire.send(request, exchange, in: flight.context) : try await sendThroughApplication(request, exchange)
                exchange.reportToBreaker(response.statusCode >= 500 ? .failed : .worked)
                guard response.isStaleTimeout(of: request), !isRepeated else { return response }
                isRepeated = true
            } catch {
                exchange.reportToBreaker(error)
                throw error
            }
        }
    }

    /// Waits in the queues and for the throttle, and starts the exchange.
    @inline(never)
    private func waitForTurn(_ request: HTTPRequest, _ exchange: Exchange) async throws {
        let isQueued = !request.settings.bypassesQueues
        if isQueued, let group = exchange.group { try await enter(group, exchange) }
        var place = isQueued ? enterHost(of: request) : nil
        repeat {
            if let (lane, waiter) = place {
                if let waiter { try await wait(waiter, .hostQueue, exchange) }
                exchange.occupy { $0.host = lane }
                // One lane for all requests.
                if let (lane, waiter) = total?.enter(0) {
                    if let waiter { try await wait(waiter, .hostQueue, exchange) }
                    exchange.occupy { $0.total = lane }
                }
            }
            // The throttle is last. Otherwise requests could collect tokens while they wait for a slot, and then start together.
            let token = try throttle?.enter(request, exchange.group)
            if let waiter = token?.waiter { try await wait(waiter, .throttle, exchange) }
            do {
                if let sink = exchange.sink { try await sink.willSend() }
                place = try begin(exchange, request, place?.lane, token?.bucket)
            } catch {
                token?.bucket.giveBack(1)
                exchange.reportToBreaker(error)
                throw error
            }
        } while place != nil
    }

    /// Registers the exchange as work that a reset awaits. Returns `nil` if application code runs: `sendAsWork(_:_:)` then does it.
    @inline(never)
    private func beginWork(_ request: HTTPRequest, _ context: CallContext) throws -> Int? {
        // Application code may ignore cancellation. The callers do not wait for it then. A reset does, and the host's slot stays occupied,
        // until that code has ended. Only such code could await a reset from inside its work, and the reset has to recognize it.
        runsApplicationCode(request, context) ? nil : try running.beginWork(context.options.epoch)
    }

    /// Waits for the slots of the group. They come before that of the host, so that a slow group does not occupy all slots of its host.
    @inline(never)
    private func enter(_ group: GroupMembership, _ exchange: Exchange) async throws {
        if let (lane, waiter) = group.enterRunning() {
            if let waiter { try await wait(waiter, .hostQueue, exchange) }
            group.occupy(running: lane)
        }
        if let (lane, waiter) = group.enterStarting() {
            if let waiter { try await wait(waiter, .throttle, exchange) }
            group.occupy(starting: lane)
        }
    }

    @inline(never)
    private func enterHost(of request: HTTPRequest) -> HostPlace { hosts.enter(request.origin) }

    @inline(never)
    private func wait(_ waiter: Waiter, _ place: WaitingPlace, _ exchange: Exchange) async throws {
        exchange.report(.waits(place))
        defer { exchange.report(.waited(place)) }
        let wait = { [waiting] in try await waiting.during(place) { try await exchange.wait(for: waiter) } }
        if let sink = exchange.sink { try await sink.during(wait: wait) } else { try await wait() }
    }

    @inline(never)
    private func makeExchange(_ request: HTTPRequest, _ flight: Flight, _ sink: (any BodySink)?, _ bytesBefore: Int) throws -> Exchange {
        let group = groups?.membership(of: request)
        // Before the queues, so that no request waits for a host with an open breaker.
        try breaker?.check(request, group) { flight.context.error(.circuitOpen, $0) }
        return Exchange(
            flight, sink: sink, bytesBefore: bytesBefore, group: group,
            jar: sink == nil || request.settings.bypassesCookies ? nil : jar, hosts, total, clock)
    }

    /// The loaders of the manager and of the request.
    @inline(__always)
    private func loaders(of context: CallContext) -> [any HTTPLoader] {
        guard let overrides = context.call.options.overrides else { return loaders }
        return loaders + overrides.loaders[.exchange]
    }

    /// True if code of the application runs while the request is sent.
    @inline(never)
    func runsApplicationCode(_ request: HTTPRequest, _ context: CallContext) -> Bool {
        !loaders(of: context).isEmpty || !wire.isStoppable(request, in: context)
    }

    @inline(never)
    private func checked(_ request: HTTPRequest, _ sink: (any BodySink)?) throws -> HTTPRequest {
        try OutgoingCheck.checked((sink?.adapted(request) ?? request).withOneCookieField)
    }

    /// Starts an exchange that has left all queues. If the host's limit was lowered meanwhile, for example by a pause, the exchange gives
    /// back its slots and its token instead.
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - request: The request.
    ///   - lane: The lane of the host; `nil` for a request that bypasses the limits.
    ///   - bucket: The bucket that the token is from; `nil` without a token.
    /// - Returns: The wait for another slot; `nil` if the exchange has started.
    /// - Throws: An error if the exchange must not start. The token is then to be given back.
    @inline(never)
    private func begin(
        _ exchange: Exchange, _ request: HTTPRequest, _ lane: Limiter<ParsedURL.Origin>.Lane?, _ bucket: ThrottleBucket?
    ) throws -> HostPlace? {
        // A request that was dropped before this point must not reach the transport.
        try Task.checkCancellation()
        if let lane, let waiter = hosts.enterAgain(lane) {
            exchange.giveBackTotal()
            bucket?.giveBack(1)
            return (lane, waiter)
        }
        let context = exchange.flight.context
        let permit = try breaker?.enter(request, exchange.group) { context.error(.circuitOpen, $0) }
        let connectTimeout = runsApplicationCode(request, context) ? nil : wire.connectTimeout(of: request, in: context)
        try exchange.begin(permit, connectTimeout: connectTimeout)
        exchange.group?.start()
        return nil
    }

    @inline(never)
    private func sendThroughApplication(_ request: HTTPRequest, _ exchange: Exchange) async throws -> HTTPResponse {
        try exchange.beginApplicationCode()
        guard exchange.flight.context.job != nil else { return try await sendAsWork(request, exchange) }
        // A download does not wait for application code: only this exchange leaves the flight, which may have others.
        return try await withTaskCancellationHandler {
            try await sendAsWork(request, exchange)
        } onCancel: {
            exchange.leaveFlight()
        }
    }

    @inline(never)
    private func sendAsWork(_ request: HTTPRequest, _ exchange: Exchange) async throws -> HTTPResponse {
        let context = exchange.flight.context
        return try await running.work(context.options.epoch) {
            let loaders = loaders(of: context)
            if loaders.isEmpty { return try await wire.send(request, exchange, in: context, isLate: true) }
            return try await loaders.load(request, in: context) { [self] in try await sendBelowLoaders($0, exchange, $1) }
        }
    }

    /// Sends a request that the application's loaders have passed on.
    @inline(never)
    private func sendBelowLoaders(_ request: HTTPRequest, _ exchange: Exchange, _ context: CallContext) async throws -> HTTPResponse {
        try beginSending(exchange, context)
        defer { if !context.isLoaderMade { exchange.endSending() } }
        // What a loader has changed is checked like any other request.
        return try await wire.send(checked(request, nil), exchange, in: context, isLate: true)
    }

    /// Counts a request of the caller, and takes it from the retry budget if it is an extra request: the loader sends the request again
    /// while it waits for the first response.
    @inline(never)
    private func beginSending(_ exchange: Exchange, _ context: CallContext) throws {
        guard !context.isLoaderMade, !exchange.beginSending(), !ledger.takeRetry() else { return }
        exchange.endSending()
        throw context.error(.duplicate, RetryLedger.refusalOfExtraRequest)
    }
}

extension HTTPResponse {
    /// True for a 408 that the server sent to an idle connection before it saw the request.
    ///
    /// A server that closes an idle connection may send a 408 first. If the client sends its next request on that connection before it sees
    /// the close, it takes the 408 for the response. RFC 9110, section 15.5.9, lets a client repeat an idempotent request.
    @inline(never)
    fileprivate func isStaleTimeout(of request: HTTPRequest) -> Bool {
        statusCode == 408 && request.isIdempotent && request.body?.isSpent != true
            && headers[HeaderName.connection]?.equalsIgnoringCase("close") == true
    }
}
