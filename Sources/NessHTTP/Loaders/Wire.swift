import Foundation

/// The transport of a manager, and the rules of its connections.
final class Wire: Sendable {
    let transport: any Transport
    private let serverTrust: ServerTrust
    /// The identities by host, or the mistake in them.
    private let identities: Result<HostRules<ClientIdentity>, any Error>
    /// The most bytes of a body, counted after any content coding is removed. `nil` for no limit.
    private let maximumBytes: Int?
    /// The transport, if it takes the pipeline's hold: found once, because the search takes longer than a request's other steps.
    private let controlled: (any ControlledTransport)?

    init(_ transport: any Transport, serverTrust: ServerTrust, identities: [String: ClientIdentity], maximumBytes: Int?) {
        self.transport = transport
        self.serverTrust = serverTrust
        self.identities = Result { try HostRules(identities) }
        self.maximumBytes = maximumBytes
        controlled = transport as? any ControlledTransport
    }

    /// True if no code of the application runs while the request is sent.
    func isStoppable(_ request: HTTPRequest) -> Bool {
        controlled?.isStoppable == true && request[OwnTransport.self] == nil && request.body.map { $0.isResolved && !$0.isStreamed } ?? true
    }

    /// Checks what no other step does, and returns what the request demands of the transport.
    @inline(never)
    func demands(for request: HTTPRequest) throws -> TLSDemands {
        do {
            if let limit = request[MaximumResponseBytes.self] ?? maximumBytes, limit < 0 {
                throw InvalidRequest("maximumResponseBytes is negative")
            }
            // Rules of hosts alone. Options of a request would follow it to another host, and an equal request would not know them.
            var demands = TLSDemands()
            try serverTrust.add(to: &demands, for: request.url)
            do {
                // Over http no certificate is shown.
                if let identity = try identities.get().value(for: request.url), request.url.scheme?.lowercased() == "https" {
                    demands.identity = identity
                }
            } catch {
                throw InvalidRequest("clientIdentities: \(error)")
            }
            let able = (request[OwnTransport.self] ?? transport).tlsCapabilities
            guard demands.capabilities.isSubset(of: able) else {
                throw InvalidRequest(
                    "the host is pinned or has a client identity, and the transport does not support that (`tlsCapabilities`)")
            }
            return demands
        } catch let error as InvalidRequest {
            throw NessError.invalidRequest(NessError.Context(request: request, reason: error.description))
        }
    }

    /// Calls the transport and collects the response.
    /// - Parameters:
    ///   - request: The request, which has been checked.
    ///   - hop: The place on the wire.
    ///   - context: The context of the request: that of the exchange, or of a request that a loader made itself.
    func send(_ request: HTTPRequest, _ hop: Hop, in context: CallContext) async throws -> HTTPResponse {
        var request = request
        let demands = try demands(for: request)
        if let body = request.body { request.body = try await body.resolved() }
        let collector = ResponseCollector(request, of: hop, in: context, maximumBytes: request[MaximumResponseBytes.self] ?? maximumBytes)
        hop.exchange.setPartialResponse(collector)
        defer { hop.exchange.setPartialResponse(nil) }
        hop.report(.began)
        if let length = request.body?.length { hop.report(.sent(0, of: length)) }
        // Only here, so that a redirect to another host does not inherit the demands from the response's request.
        if request.demands != demands { request.demands = demands }
        do {
            if let own = request[OwnTransport.self] {
                request[AttemptNumber.self] = context.attempt
                try await own.send(request, under: hop) { event in try await collector.receive(event) }
            } else if let controlled {
                try await controlled.send(request, under: hop) { event in try await collector.receive(event) }
            } else {
                try await transport.send(request) { event in try await collector.receive(event) }
            }
            return try collector.finish()
        } catch {
            throw collector.refusal ?? Self.failure(error, in: context, after: collector.response)
        }
    }

    /// Maps an error to the one that all steps above see. `TransportError` ends here.
    @inline(never)
    private static func failure(_ error: any Error, in context: CallContext, after response: HTTPResponse?) -> any Error {
        switch error {
        case let error as TransportError:
            context.error(error, response: response)
        case let error as FileError:
            context.error(.fileSystem, error.description, response: response, underlying: error)
        case let error as ReceiverFellBehind:
            context.error(.fileSystem, error.description, response: response, underlying: error)
        case is any ExchangeInterruption:
            context.error(.malformedResponse, "the exchange was given up: \(error)", response: response, underlying: error)
        default: error
        }
    }
}
