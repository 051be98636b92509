import NessConventions
import NessHTTP
import Tracing

extension Ness.Configuration {
    /// Traces the requests of the manager: see `RequestTracer`.
    ///
    /// ```swift
    /// let ness = Ness { $0.trace() }
    /// ```
    /// - Parameters:
    ///   - tracer: The tracer; `nil` for that of `InstrumentationSystem`, which may be set later.
    ///   - propagates: Returns true if the server of a request gets the context of the trace. Runs off the main thread, before each
    ///     exchange. By default every server does. The context may contain baggage.
    public mutating func trace(
        with tracer: (any Tracer)? = nil, propagating propagates: @escaping @Sendable (HTTPRequest) -> Bool = { _ in true }
    ) {
        let tracer = RequestTracer(tracer, propagating: propagates)
        observers.append(tracer)
        insert(tracer, at: .exchange)
    }
}

/// Makes a span for each request of a manager, and one below it for each exchange on the wire.
///
/// The span of a request has the kind `internal`, and the caller's span as its parent. Retries, refreshes, cached responses and pauses are
/// its events. The span of an exchange has the kind `client` and the attributes of OpenTelemetry's conventions. A caller who joins the
/// exchange of another caller has a link to that span. URLs are redacted, and of an error only the type is shown.
///
/// The context is injected by the instrument, in the format that the service has configured. A tracer is both an observer and a loader at
/// the place `.exchange`: see `Ness.Configuration.trace(with:propagating:)`.
public final class RequestTracer: RequestObserver, HTTPLoader {
    /// The span of a request, with the number of its exchanges so far.
    private struct Running: Sendable {
        let span: any Span
        var exchanges = 0
    }

    /// The span of an exchange, which its callers find in the exchange's request.
    private struct TracedExchange: RequestOptionKey, Sendable {
        static let defaultValue: TracedExchange? = nil
        static let distinguishesRequests = false
        let context: ServiceContext
        /// The fields that were injected, with the values from before. A redirect's request is a copy of the one before, and may go to a
        /// server that must not get them.
        var replaced: [String: [String]] = [:]
    }

    private let chosen: (any Tracer)?
    private let propagates: @Sendable (HTTPRequest) -> Bool
    private let running = RequestTable<Running>()

    private var tracer: any Tracer { chosen ?? InstrumentationSystem.tracer }
    private var instrument: any Instrument { chosen ?? InstrumentationSystem.instrument }

    /// Makes a tracer.
    /// - Parameters:
    ///   - tracer: The tracer; `nil` for that of `InstrumentationSystem`.
    ///   - propagates: Returns true if the server of a request gets the context of the trace. Runs off the main thread, before each
    ///     exchange.
    public init(_ tracer: (any Tracer)? = nil, propagating propagates: @escaping @Sendable (HTTPRequest) -> Bool = { _ in true }) {
        (chosen, self.propagates) = (tracer, propagates)
    }

    private func name(of request: HTTPRequest) -> String {
        let method = Conventions.method(request.method)
        return "\(method == "_OTHER" ? "HTTP" : method)\(request.tags.route.map { " \($0)" } ?? "")"
    }

    // MARK: the span of a request

    /// Starts the span of the request.
    public func requestDidStart(_ request: HTTPRequest) {
        let span = tracer.startSpan(name(of: request))
        running[request.id] = Running(span: span)
        guard span.isRecording else { return }
        span.updateAttributes { attributes in
            for (name, value) in request.tags.values { attributes[name] = value }
            attributes["http.request.method"] = Conventions.method(request.method)
            if let route = request.tags.route { attributes["url.template"] = route }
            if let id = request.tags.requestID { attributes["request.id"] = id }
        }
    }

    private func add(_ event: String, to request: HTTPRequest, _ describe: (inout SpanAttributes) -> Void = { _ in }) {
        guard let span = running[request.id]?.span, span.isRecording else { return }
        var attributes: SpanAttributes = [:]
        describe(&attributes)
        span.addEvent(SpanEvent(name: event, attributes: attributes))
    }

    /// Links the span of a caller who has joined to the span of the exchange.
    public func requestDidBeginExchange(_ exchange: RequestExchange, of request: HTTPRequest) {
        guard exchange.isJoined, let span = running[request.id]?.span, let context = exchange.request[TracedExchange.self]?.context else {
            return
        }
        span.addLink(SpanLink(context: context, attributes: ["ness.link": "shared exchange"]))
    }

    /// Adds an event with the delay and the cause.
    public func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt) {
        add("retry", to: request) { attributes in
            attributes["ness.delay"] = delay / .seconds(1)
            attributes["ness.attempt"] = attempt.number
            attributes["error.type"] = Conventions.errorType(of: attempt)
        }
    }

    /// Adds an event: this request starts a refresh.
    public func requestWillRefresh(_ request: HTTPRequest) { add("refresh", to: request) }

    /// Adds an event with the place and the length of the wait.
    public func requestDidWait(_ request: HTTPRequest, at place: WaitingPlace, for duration: Duration) {
        add("wait", to: request) { attributes in
            attributes["ness.place"] = place.rawValue
            attributes["ness.duration"] = duration / .seconds(1)
        }
    }

    /// Adds an event, if the response is from the cache.
    public func requestDidReceive(_ response: HTTPResponse, to request: HTTPRequest) {
        if response.source != .network { add("cache", to: request) { $0["ness.source"] = "\(response.source)" } }
    }

    /// Adds an event.
    public func requestDidPause(_ request: HTTPRequest) { add("pause", to: request) }

    /// Adds an event.
    public func requestDidResume(_ request: HTTPRequest) { add("resume", to: request) }

    /// Sets the outcome.
    public func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) {
        guard let span = running[request.id]?.span, span.isRecording else { return }
        span.updateAttributes { attributes in
            attributes["ness.attempts"] = metrics.attempts
            attributes["ness.exchanges"] = metrics.exchanges
            if let response = Conventions.response(of: metrics.outcome) { attributes["http.response.status_code"] = response.statusCode }
        }
        set(metrics.outcome, of: span, isRequest: true)
    }

    /// Ends the span of the request.
    public func requestDidEnd(_ request: HTTPRequest) { running.remove(request.id)?.span.end() }

    // MARK: the span of an exchange

    /// Sends the request in a span, with its context.
    public func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        // The request of a loader has another number. Its parent is the caller's span.
        let call = running.change(request.id) { $0.exchanges += 1 }
        let parent = call?.span.context ?? .current ?? .topLevel
        let span = tracer.startSpan(name(of: request), context: parent, ofKind: .client)
        defer { span.end() }
        var request = request
        for (name, values) in request[TracedExchange.self]?.replaced ?? [:] {
            request.headers[name] = nil
            for value in values { request.headers.add(value, for: name) }
        }
        var traced = TracedExchange(context: span.context)
        if propagates(request) {
            var injected = InjectedFields(headers: request.headers)
            instrument.inject(span.context, into: &injected, using: FieldInjector())
            (request.headers, traced.replaced) = (injected.headers, injected.replaced)
        }
        request[TracedExchange.self] = traced
        if span.isRecording { describe(request, resendCount: (call?.exchanges ?? 1) - 1, in: span) }
        do {
            let response = try await next(request)
            set(.success(response), of: span)
            return response
        } catch {
            set(.failure(error), of: span)
            throw error
        }
    }

    private func describe(_ request: HTTPRequest, resendCount: Int, in span: any Span) {
        span.updateAttributes { attributes in
            let method = Conventions.method(request.method)
            attributes["http.request.method"] = method
            if method == "_OTHER" { attributes["http.request.method_original"] = request.method.rawValue }
            attributes["url.full"] = request.redactedURL
            if let route = request.tags.route { attributes["url.template"] = route }
            attributes["server.address"] = request.url.host
            attributes["server.port"] = Conventions.port(of: request)
            if resendCount > 0 { attributes["http.request.resend_count"] = resendCount }
        }
    }

    private func set(_ outcome: Result<HTTPResponse, any Error>, of span: any Span, isRequest: Bool = false) {
        guard span.isRecording else { return }
        span.updateAttributes { attributes in
            let response = Conventions.response(of: outcome)
            if let response, !isRequest {
                attributes["http.response.status_code"] = response.statusCode
                if let version = Conventions.protocolVersion(of: response.connection) { attributes["network.protocol.version"] = version }
            }
            if let type = Conventions.errorType(of: outcome) { attributes["error.type"] = type }
        }
        let hasFailed = if case .failure = outcome { true } else { !isRequest && Conventions.errorType(of: outcome) != nil }
        if hasFailed { span.setStatus(SpanStatus(code: .error)) }
    }
}

/// The header fields of a request, with the values that injected fields have replaced.
private struct InjectedFields: Sendable {
    var headers: HTTPHeaders
    var replaced: [String: [String]] = [:]
}

/// Adds the fields of a context to a request.
private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into fields: inout InjectedFields) {
        if fields.replaced[key] == nil { fields.replaced[key] = fields.headers.values(for: key) }
        fields.headers[key] = value
    }
}
