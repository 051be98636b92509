import Foundation
import Metrics
import NessConventions
import NessHTTP

extension Ness.Configuration {
    /// Measures the requests of the manager: see `RequestMeter`.
    ///
    /// ```swift
    /// let ness = Ness { $0.measure() }
    /// ```
    /// - Parameters:
    ///   - factory: The receiver of the metrics; `nil` for that of `MetricsSystem`.
    ///   - address: Returns the value of `server.address`. Runs off the main thread. By default the host of the URL. For a manager that
    ///     sends to any number of hosts, return `nil`. For a circuit breaker it gets a GET of the breaker's origin.
    public mutating func measure(
        with factory: (any MetricsFactory)? = nil, serverAddress address: @escaping @Sendable (HTTPRequest) -> String? = { $0.url.host }
    ) { observers.append(RequestMeter(factory, serverAddress: address)) }
}

/// Measures the requests of a manager with swift-metrics.
///
/// For each exchange on the wire, as OpenTelemetry defines the names:
///
/// | name | instrument | dimensions |
/// |---|---|---|
/// | `http.client.request.duration` | timer | `http.request.method`, `server.address`, `server.port`, `url.template`, `http.response.status_code`, `error.type`, `network.protocol.version` |
/// | `http.client.active_requests` | meter | `http.request.method`, `server.address`, `server.port`, `url.template` |
/// | `ness.connections` | counter of opened connections | the same |
///
/// For each request of a caller, with `http.request.method`, `server.address`, `server.port` and `url.template`:
///
/// | name | instrument | more dimensions |
/// |---|---|---|
/// | `ness.request.duration` | timer | `http.response.status_code`, `error.type`, and `ness.source` of a cached response: `cache`, `stale` or `revalidated` |
/// | `http.client.request.body.size`, `http.client.response.body.size` | recorder | |
/// | `ness.attempts` | counter of all attempts that started an exchange | |
/// | `ness.retries` | counter | `error.type` |
/// | `ness.joined` | counter of callers who joined the exchange of another caller | |
/// | `ness.refreshes` | counter of started refreshes | |
/// | `ness.wait.duration` | timer | `ness.place`: `hostQueue`, `throttle` or `refresh` |
/// | `ness.waiting` | meter | `ness.place` |
///
/// For each circuit breaker that is not closed:
///
/// | name | instrument | dimensions |
/// |---|---|---|
/// | `ness.circuit_breakers` | meter | `ness.state`: `open` or `halfOpen`; `server.address` and `server.port`, or `ness.group` |
///
/// The duration of a stream includes the time that its reader takes. Sizes are in bytes: swift-metrics has no units, so no name ends with one.
/// An exchange belongs to the caller who started it: if that caller leaves, it is recorded as `dropped`, although it may continue for others.
/// One behind a redirect to another host has neither address nor route, because a server has chosen that host.
///
/// A request that an open circuit breaker rejects has the `error.type` `circuitOpen`. A dimension without a value is left out. The only
/// part of a URL in a dimension is the host: give each request the `route` of its `RequestTags`. `http.client.open_connections` has no
/// counterpart: neither libcurl nor URLSession reports when it closes an idle connection.
public final class RequestMeter: RequestObserver {
    private let factory: (any MetricsFactory)?
    private let address: @Sendable (HTTPRequest) -> String?
    private let known = Locked<[Target: Instruments]>([:])
    private let breakers = Locked<[[String]: Meter]>([:])
    /// The instruments of each running request.
    private let requests = RequestTable<Instruments>()
    /// The instruments of each running exchange, by its number.
    private let exchanges = RequestTable<Instruments>()

    /// Makes a meter.
    /// - Parameters:
    ///   - factory: The receiver of the metrics; `nil` for that of `MetricsSystem`.
    ///   - address: Returns the value of `server.address`; `nil` to leave it out. Runs off the main thread.
    public init(
        _ factory: (any MetricsFactory)? = nil, serverAddress address: @escaping @Sendable (HTTPRequest) -> String? = { $0.url.host }
    ) {
        (self.factory, self.address) = (factory, address)
    }

    /// The instruments for the server of a request.
    private func instruments(for request: HTTPRequest) -> Instruments {
        let address = address(request)
        return instruments(
            Target(
                method: Conventions.method(request.method), address: address, port: address == nil ? nil : Conventions.port(of: request),
                route: request.tags.route))
    }

    private func instruments(_ target: Target) -> Instruments {
        known.withLock { known in
            if let instruments = known[target] { return instruments }
            let instruments = Instruments(of: target, by: factory ?? MetricsSystem.factory)
            known[target] = instruments
            return instruments
        }
    }

    // MARK: each exchange

    /// Counts the exchange as active, or the caller as one who has joined.
    public func requestDidBeginExchange(_ exchange: RequestExchange, of request: HTTPRequest) {
        if exchange.isJoined {
            requests[request.id]?.joined.increment()
            return
        }
        // The host of a URL is decoded each time, which takes as long as the rest.
        let isElsewhere = exchange.request.url != request.url && exchange.request.url.host != request.url.host
        let instruments: Instruments
        if isElsewhere {
            // A redirect to another host: a server has chosen it, so its name would make any number of series.
            instruments = self.instruments(Target(method: Conventions.method(exchange.request.method), address: nil, port: nil, route: nil))
        } else if let known = requests[request.id], exchange.request.method == request.method {
            instruments = known
        } else {
            instruments = self.instruments(for: exchange.request)
        }
        exchanges[exchange.id] = instruments
        instruments.active.increment()
    }

    /// Records the duration of the exchange.
    public func requestDidEndExchange(_ exchange: RequestExchange, with outcome: Result<HTTPResponse, any Error>, of request: HTTPRequest) {
        guard !exchange.isJoined, let instruments = exchanges.remove(exchange.id) else { return }
        instruments.active.decrement()
        var values = Outcome(outcome)
        let connection = Conventions.response(of: outcome)?.connection
        if connection?.isReused == false { instruments.connections.increment() }
        values.version = Conventions.protocolVersion(of: connection)
        instruments.exchanges(values).record(duration: exchange.duration ?? .zero)
    }

    // MARK: each request

    /// Finds the instruments of the request, whose URL is absolute now.
    public func requestWillSend(_ request: HTTPRequest) {
        if requests[request.id] == nil { requests[request.id] = instruments(for: request) }
    }

    /// Counts the request as waiting.
    public func requestWillWait(_ request: HTTPRequest, at place: WaitingPlace) {
        requests[request.id]?.waits(at: place).waiting.increment()
    }

    /// Records the duration of the wait.
    public func requestDidWait(_ request: HTTPRequest, at place: WaitingPlace, for duration: Duration) {
        guard let waits = requests[request.id]?.waits(at: place) else { return }
        waits.waiting.decrement()
        waits.duration.record(duration: duration)
    }

    /// Counts the refresh.
    public func requestWillRefresh(_ request: HTTPRequest) { requests[request.id]?.refreshes.increment() }

    /// Counts the retry.
    public func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt) {
        requests[request.id]?.retries(after: Conventions.errorType(of: attempt)).increment()
    }

    /// Records the duration, the bytes and the attempts.
    public func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) {
        // A request that failed before its first attempt has no instruments.
        let instruments = requests.remove(request.id) ?? instruments(for: request)
        var values = Outcome(metrics.outcome)
        if let response = Conventions.response(of: metrics.outcome), response.source != .network { values.source = "\(response.source)" }
        instruments.requests(values).record(duration: metrics.total)
        instruments.sent.record(metrics.bytesSent)
        instruments.received.record(metrics.bytesReceived)
        instruments.attempts.increment(by: metrics.attempts)
    }

    // MARK: each circuit breaker

    /// Counts the breaker under its new state.
    public func circuitBreakerDidChange(_ change: CircuitBreakerChange) {
        meter(of: change, change.old)?.decrement()
        meter(of: change, change.new)?.increment()
    }

    /// The meter of the breakers in a state; `nil` for the closed ones.
    private func meter(of change: CircuitBreakerChange, _ state: CircuitBreakerChange.State) -> Meter? {
        if state == .closed { return nil }
        var dimensions = [("ness.state", state.rawValue)]
        if let group = change.group { dimensions.append(("ness.group", group)) }
        if let url = change.origin.flatMap(URL.init(string:)) {
            let request = HTTPRequest(url: url)
            if let address = address(request) {
                dimensions += [("server.address", address), ("server.port", "\(Conventions.port(of: request))")]
            }
        }
        return breakers.withLock { breakers in
            let key = dimensions.map { "\($0)=\($1)" }
            if let known = breakers[key] { return known }
            let meter = Meter(label: "ness.circuit_breakers", dimensions: dimensions, factory: factory ?? MetricsSystem.factory)
            breakers[key] = meter
            return meter
        }
    }
}
