import Foundation
import NessHTTP
import NessLock

extension RequestBuilder {
    /// Returns replies for this request, instead of the manager's transport. Everything above the transport works as with a server. The
    /// request shares no exchange with others.
    /// - Parameter replies: The replies, one for each exchange, in order. They continue when the builder is sent again, and the last one
    ///   repeats. Without a reply, the request fails with `MockTransportError.invalidReply`.
    public func mock(_ replies: Reply...) -> RequestBuilder {
        let rest = Lock(replies[...])
        return mock { _ in
            let next = rest.withLock { $0.count > 1 ? $0.removeFirst() : $0.first }
            guard let next else { throw MockTransportError.invalidReply("the list of replies is empty") }
            return next
        }
    }

    /// Calls a closure for this request, instead of the manager's transport. Everything above the transport works as with a server. The
    /// request shares no exchange with others.
    /// - Parameter reply: Makes the reply. Runs in a separate task, which is canceled with the request.
    public func mock(_ reply: @escaping MockTransport.Handler) -> RequestBuilder {
        set(transport: RequestMock(clock: pipelineClock, reply: reply))
    }
}

/// The transport of one request.
private struct RequestMock: ControlledTransport {
    let clock: PipelineClock
    let reply: MockTransport.Handler

    /// True, because no server is involved.
    var tlsCapabilities: TLSCapabilities { .all }

    var isStoppable: Bool { false }

    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try await send(request, under: nil, receive: receive)
    }

    func send(
        _ request: HTTPRequest, under control: (any ExchangeControl)?, receive: @escaping @Sendable (TransportEvent) async throws -> Void
    ) async throws {
        try Task.checkCancellation()
        let (request, body) = try await MockTransport.collected(request)
        let received = ReceivedRequest(mocked: request, body: body, number: control?.attempt ?? 1)
        try await MockExchange(request: request, clock: clock, receive: receive).run { try await reply(received) }
    }
}
