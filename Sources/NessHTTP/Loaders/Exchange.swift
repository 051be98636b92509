import Foundation

/// The last stage: calls the transport and collects the response.
struct Exchange: HTTPLoader {
    private let transport: any Transport
    /// True if `ExchangeControl` ends an exchange of the transport.
    private let isStoppable: Bool
    private let serverTrust: ServerTrust
    /// The identities by host, or the mistake in them.
    private let identities: Result<HostRules<ClientIdentity>, any Error>
    /// The most bytes of a body, counted after any content coding is removed. `nil` for no limit.
    private let maximumBytes: Int?
    private let running: RunningRequests

    init(
        transport: any Transport, serverTrust: ServerTrust, identities: [String: ClientIdentity], maximumBytes: Int?,
        running: RunningRequests
    ) {
        self.transport = transport
        self.serverTrust = serverTrust
        self.identities = Result { try HostRules(identities) }
        isStoppable = transport is any StoppableTransport
        self.maximumBytes = maximumBytes
        self.running = running
    }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        // The application's code may ignore a cancellation. The caller then does not wait, but a reset does, and the host's place stays
        // occupied, until that code has ended.
        let hasOwnBody = request.body.map { !$0.isResolved || $0.isStreamed } ?? false
        guard isStoppable, request[OwnTransport.self] == nil, !hasOwnBody else {
            return try await abandonable(request, in: next.context)
        }
        // No code of the application is awaited below, so none can await a reset there, which would have to know this work.
        let id = try running.beginWork(next.context.call.choices.epoch)
        defer { running.endWork(id) }
        return try await exchange(request, in: next.context)
    }

    private func abandonable(_ request: HTTPRequest, in context: CallContext) async throws -> HTTPResponse {
        try await AbandonableWork.run(under: context.control) {
            try await running.work(context.call.choices.epoch) { try await exchange(request, in: context) }
        }
    }

    private func exchange(_ request: HTTPRequest, in context: CallContext) async throws -> HTTPResponse {
        let demands = try demands(for: request)
        var request = request
        guard context.slot?.enter() ?? true else { throw CancellationError() }
        defer { context.slot?.leave() }
        if let body = request.body { request.body = try await body.resolved() }
        let collector = ResponseCollector(request, in: context, maximumBytes: request[MaximumResponseBytes.self] ?? maximumBytes)
        context.call.setPartialResponse(collector)
        defer { context.call.setPartialResponse(nil) }
        context.activity?.requestDidStart(attempt: context.attempt)
        if let length = request.body?.length { context.activity?.requestDidSend(bytes: 0, of: length) }
        do {
            try await send(request, demanding: demands, in: context) { event in try await collector.receive(event) }
            return try collector.finish()
        } catch {
            throw collector.refusal ?? Self.failure(error, in: context, after: collector.response)
        }
    }

    /// Checks what no other stage does, and returns what the exchange demands of the transport.
    @inline(never)
    private func demands(for request: HTTPRequest) throws -> TLSDemands {
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

    private func send(
        _ request: HTTPRequest, demanding demands: TLSDemands, in context: CallContext,
        receive: @escaping @Sendable (TransportEvent) async throws -> Void
    ) async throws {
        let baseURL = context.call.choices.environment.baseURL
        var request = request.forTransport(context.control, streamsResponse: context.sink != nil, baseURL: baseURL)
        // Only here, so that a redirect to another host does not inherit the demands from the response's request.
        if request.demands != demands { request.demands = demands }
        if let own = request[OwnTransport.self] {
            request[AttemptNumber.self] = context.attempt
            try await own.send(request, receive: receive)
        } else {
            try await transport.send(request, receive: receive)
        }
    }

    /// Maps an error to the one that all stages above see. `TransportError` ends here.
    @inline(never)
    private static func failure(_ error: any Error, in context: CallContext, after response: HTTPResponse?) -> any Error {
        switch error {
        case let error as TransportError:
            context.call.error(error, response: response)
        case let error as FileError:
            context.call.error(.fileSystem, error.description, response: response, underlying: error)
        case let error as ReceiverFellBehind:
            context.call.error(.fileSystem, error.description, response: response, underlying: error)
        case is any ExchangeInterruption:
            context.call.error(.malformedResponse, "the exchange was given up: \(error)", response: response, underlying: error)
        default: error
        }
    }
}
