import Foundation

/// The transport of a manager, and the rules of its connections.
final class Wire: Sendable {
    let transport: any Transport
    private let serverTrust: ServerTrust
    /// The client identities by host.
    private let identities: HostRules<TLSDemands>
    /// The most bytes of a body, counted after any content coding is removed. `nil` for no limit.
    private let maximumBytes: Int?
    private let connectTimeout: Duration?
    /// The transport in the form that the pipeline controls. Found once, because the cast takes longer than the other steps of a request.
    private let controlled: any ControlledTransport

    init(
        _ transport: any Transport, serverTrust: ServerTrust, identities: [String: ClientIdentity], maximumBytes: Int?,
        connectTimeout: Duration?
    ) {
        self.transport = transport
        self.serverTrust = serverTrust
        self.identities = HostRules("clientIdentities", identities) { identity, _ in TLSDemands(identity: identity) }
        self.maximumBytes = maximumBytes
        self.connectTimeout = connectTimeout
        controlled = transport.controlled
    }

    /// Identifies the route to a server: the client certificate, and the transport's own `route`. A server may tell users apart by the
    /// route, so the cache does as well. Empty for most managers.
    func route(of request: HTTPRequest) -> String {
        var route = ""
        // With its length, so that no value can look like two.
        func add(_ name: String, _ value: String) { route += "@\(name) \(value.utf8.count) \(value) " }
        if !transport.route.isEmpty { add("route", transport.route) }
        if let identity = try? identities.value(for: request)?.identity, request.origin.scheme == "https" {
            add("identity", identity.digest)
        }
        return route
    }

    /// Returns the transport of a call.
    private func controlled(in context: CallContext) -> any ControlledTransport { context.transport?.controlled ?? controlled }

    /// True if no code of the application runs while the request is sent.
    func isStoppable(_ request: HTTPRequest, in context: CallContext) -> Bool {
        controlled.isStoppable && context.transport == nil && request.body.map { $0.isResolved && !$0.isStreamed } ?? true
    }

    /// Returns the longest time until a connection is ready. `nil` for no limit, for an invalid limit, and for a transport that does not
    /// report when a connection is ready.
    func connectTimeout(of request: HTTPRequest, in context: CallContext) -> Duration? {
        guard controlled(in: context).limitsConnecting else { return nil }
        return connectTimeout(of: request).flatMap { $0 > .zero ? $0 : nil }
    }

    private func connectTimeout(of request: HTTPRequest) -> Duration? { request.settings.connectTimeout ?? connectTimeout }

    /// Checks the limits and the TLS settings, and returns the request with its TLS demands on the transport. The response names the
    /// request without the demands, because a redirect to another host would inherit them.
    @inline(never)
    private func demanding(_ request: HTTPRequest, _ context: CallContext) throws -> HTTPRequest {
        do {
            if let limit = maximumBytes(of: request), limit < 0 { throw InvalidRequest("maximumResponseBytes is negative") }
            if let limit = connectTimeout(of: request), limit <= .zero { throw InvalidRequest("the connectTimeout is not positive") }
            let transport = context.transport ?? transport
            // Otherwise the header fields would describe an encoded body, but the transport would decode it.
            if request[KeepsContentCoding.self], !transport.keepsContentCoding {
                throw InvalidRequest("the transport cannot keep a content coding (`keepsContentCoding`)")
            }
            // Rules apply per host: a redirect to another host must not inherit them, and an equal request must not lack them.
            var demands = try serverTrust.demands(on: request)
            // Over http no certificate is shown.
            if let own = try identities.value(for: request), request.origin.scheme == "https" {
                demands = demands.map { TLSDemands(publicKeys: $0.publicKeys, authorities: $0.authorities, identity: own.identity) } ?? own
            }
            guard let demands else { return request }
            guard demands.capabilities.isSubset(of: transport.tlsCapabilities) else {
                throw InvalidRequest(
                    "the host is pinned or has a client identity, and the transport does not support that (`tlsCapabilities`)")
            }
            var demanding = request
            demanding.tlsDemands = demands
            return demanding
        } catch let error as InvalidRequest {
            throw NessError(.invalidRequest, NessError.Context(request: request, reason: error.description))
        }
    }

    private func maximumBytes(of request: HTTPRequest) -> Int? { request.settings.maximumResponseBytes ?? maximumBytes }

    /// Calls the transport and collects the response.
    /// - Parameters:
    ///   - request: The request, which has been checked.
    ///   - exchange: The place on the wire.
    ///   - context: The context of the request: that of the flight, or of a request that a loader made itself.
    ///   - isLate: True if application code has run since the start of the exchange. The connect timeout then starts here.
    func send(
        _ request: HTTPRequest, _ exchange: Exchange, in context: CallContext, isLate: Bool = false
    ) async throws -> HTTPResponse {
        if let body = request.body, !body.isResolved || body.isStreamed { exchange.watch(body) }
        let request = Self.withoutDemands(request.body?.isResolved == false ? try await resolved(request, exchange, context) : request)
        let sent = try demanding(request, context)
        if isLate { exchange.beginConnecting(within: connectTimeout(of: request, in: context)) }
        defer { if isLate { exchange.endConnecting() } }
        let collector = begin(request, exchange, context)
        defer {
            collector.stopTimer()
            exchange.flight.setPartialResponse(nil)
        }
        do {
            let response: HTTPResponse
            do {
                try await controlled(in: context).send(sent, under: exchange) { [mayWait = collector.mayWait] event in
                    if mayWait { try await collector.receiveForSink(event) } else { try collector.receiveInMemory(event) }
                }
                response = try collector.finalResponse()
            } catch {
                guard let redirect = collector.redirect(cutBy: error) else { throw error }
                response = redirect
            }
            Self.succeed(response, of: request, exchange, collector, in: context)
            return response
        } catch {
            throw failure(error, of: request, exchange, collector, in: context)
        }
    }

    /// Runs the closures that make the parts of a request's body.
    @inline(never)
    private func resolved(_ request: HTTPRequest, _ exchange: Exchange, _ context: CallContext) async throws -> HTTPRequest {
        var request = request
        do {
            request.body = try await request.body?.resolved()
        } catch {
            throw Self.failure(error, of: request, in: context, after: nil)
        }
        if let body = request.body { exchange.watch(body) }
        return request
    }

    /// Removes the TLS demands of another manager, whose transport has passed the request on.
    @inline(never)
    private static func withoutDemands(_ request: HTTPRequest) -> HTTPRequest {
        if request.tlsDemands == nil { return request }
        var request = request
        request.tlsDemands = nil
        return request
    }

    /// Starts to collect the response, and reports the start.
    @inline(never)
    private func begin(_ request: HTTPRequest, _ exchange: Exchange, _ context: CallContext) -> ResponseCollector {
        let collector = ResponseCollector(
            request, of: exchange, in: context, over: controlled(in: context), maximumBytes: maximumBytes(of: request))
        exchange.flight.setPartialResponse(collector)
        exchange.report(.began(collector.observed))
        // Reports the bytes that an earlier exchange or run has saved.
        if let sink = exchange.sink, let saved = sink.progress?.completed, saved > 0 {
            sink.reportProgress { [flight = exchange.flight] in flight.report(.received($0, of: $1)) }
        }
        if let length = request.body?.length { exchange.report(.sent(0, of: length)) }
        return collector
    }

    /// Returns an error that names the proxy, if there is one and the connection failed: the proxy may be at fault.
    private func namingProxy(_ error: any Error, of request: HTTPRequest, in context: CallContext) -> any Error {
        guard let proxy = controlled(in: context).proxy(of: request) else { return error }
        switch error {
        case var error as TransportError where error.kind != .invalidRequest && error.kind != .addressRejected:
            let subject = "the proxy "
            error.reason =
                error.reason.hasPrefix(subject)
                ? "\(subject)\(proxy) \(error.reason.dropFirst(subject.count))" : "\(error.reason), through the proxy \(proxy)"
            return error
        // The connect timeout has passed.
        case var error as NessError where error.kind == .cannotConnect:
            error.context.reason += ", through the proxy \(proxy)"
            return error
        default: return error
        }
    }

    /// True if the members of the flight have to know what a request may have caused: unless a loader at `.exchange` made it.
    private static func concernsFlight(_ request: HTTPRequest, _ exchange: Exchange, _ context: CallContext) -> Bool {
        !request.method.isSafe && (!context.isLoaderMade || exchange.flight.context.isLoaderMade)
    }

    /// Reports the end of an exchange with a response, and notes that a server may have acted on the request.
    @inline(never)
    private static func succeed(
        _ response: HTTPResponse, of request: HTTPRequest, _ exchange: Exchange, _ collector: ResponseCollector, in context: CallContext
    ) {
        // Not inlined: the frame of `send` would have room for the event.
        if concernsFlight(request, exchange, context), response.mayFollowAction { exchange.flight.noteAction() }
        exchange.flight.reportEnd(of: collector.observed, .success(response))
    }

    /// Returns the error of a request, reports the end of its exchange, and notes that a server may have acted on it.
    @inline(never)
    private func failure(
        _ error: any Error, of request: HTTPRequest, _ exchange: Exchange, _ collector: ResponseCollector, in context: CallContext
    ) -> any Error {
        // Not inlined, because a `NessError` takes more than 100 bytes, and the frame of `send` would have room for several.
        let error = namingProxy(error, of: request, in: context)
        let failure = collector.rejection ?? Self.failure(error, of: request, in: context, after: collector.response)
        if Self.concernsFlight(request, exchange, context), (failure as? NessError)?.mayHaveReachedServer != false {
            exchange.flight.noteAction()
        }
        exchange.flight.reportEnd(of: collector.observed, .failure(failure))
        return failure
    }

    /// Maps an error to the one that all steps above see. `TransportError` ends here.
    @inline(never)
    private static func failure(
        _ error: any Error, of request: HTTPRequest, in context: CallContext, after response: HTTPResponse?
    ) -> any Error {
        switch error {
        case let error as TransportError:
            context.error(error.hidingSecrets(of: request), response: response)
        case let error as FileError:
            context.error(.fileSystem, error.description, response: response, underlying: error)
        case let error as ReceiverFellBehind:
            context.error(.fileSystem, error.description, response: response, underlying: error)
        case is any ExchangeInterruption:
            context.error(.malformedResponse, "the exchange was abandoned: \(error)", response: response, underlying: error)
        default: error
        }
    }
}
