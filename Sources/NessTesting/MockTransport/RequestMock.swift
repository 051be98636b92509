import Foundation
import NessHTTP

extension RequestBuilder {
    /// Has this request answered by replies, whatever transport its manager has. Everything above the transport works as it does with a
    /// server; the request shares no exchange with others.
    /// - Parameter replies: One for each exchange of the request, in order, however often the request is sent; the last repeats. Without
    ///   any, the request fails with `MockTransportError.invalidReply`.
    public func mock(_ replies: Reply...) -> RequestBuilder {
        let next = Lock(0)
        return mock { _ in
            let index = next.withLock { next in
                defer { next += 1 }
                return next
            }
            guard let last = replies.last else { throw MockTransportError.invalidReply("there is none") }
            return index < replies.count ? replies[index] : last
        }
    }

    /// Has this request answered by a closure, whatever transport its manager has. Everything above the transport works as it does with a
    /// server; the request shares no exchange with others.
    /// - Parameter reply: Makes the reply, in a task of its own, which is cancelled with the request.
    public func mock(_ reply: @escaping MockTransport.Handler) -> RequestBuilder {
        set(option: OwnTransport.self, to: RequestMock(clock: timekeeper, reply: reply))
    }
}

/// The wire of one request.
private struct RequestMock: Transport {
    let clock: Timekeeper
    let reply: MockTransport.Handler

    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) throws -> Void) async throws {
        try Task.checkCancellation()
        let received = ReceivedRequest(mocked: request, number: request[AttemptNumber.self])
        try await MockExchange(request, clock: clock, receive: receive).run { try await reply(received) }
    }
}
