import Foundation

/// The pipeline's hold on one request on the wire, and what the library's own transports need beside the request.
package protocol ExchangeControl: AnyObject, Sendable {
    /// True if the response's body is processed as it arrives, perhaps slowly, and not collected in memory.
    var streamsResponse: Bool { get }
    /// The number of the call's attempt, counted from 1.
    var attempt: Int { get }
    /// The base URL of the call's environment; `nil` if it has none.
    var baseURL: URL? { get }

    /// Starts the use of a connection of the host's limit. A transport whose connections can outlive `send` calls it.
    /// - Returns: False if the request was abandoned. It must not be sent.
    func occupySlot() -> Bool

    /// Ends the use of a connection: it is closed or idle.
    func releaseSlot()

    /// The longest time until a connection is ready, from the exchange's start; `nil` for no limit. The pipeline keeps to it.
    var connectTimeout: Duration? { get }

    /// Notes that a connection is ready. Call this just before the first byte of the request is sent.
    /// - Returns: False if the request was stopped. It must not be sent.
    func didConnect() -> Bool

    /// Notes that the request waits for a network. From then on it needs no slot of the host; until bytes move, its idle timer stands still.
    func waitsForNetwork()

    /// Notes that bytes have moved of which no event tells yet, such as lines of an incomplete header.
    func bytesDidMove()

    /// Sets the closure that ends the request immediately with an error. It runs on any thread, and during this call if the request was
    /// stopped before. If there is a closure already, that one stays: it belongs to code further out, which cancels the task of this one.
    func onStop(_ end: @escaping @Sendable (any Error) -> Void)
}

/// A transport of the library, which gets the pipeline's hold beside the request.
package protocol ControlledTransport: Transport {
    /// True if `send` ends immediately when `ExchangeControl` stops the request. If `receive` runs just then, `send` ends after it.
    var isStoppable: Bool { get }
    /// True if the transport calls `didConnect()`.
    var limitsConnecting: Bool { get }

    /// Returns the host and port of a request's proxy, for errors. `nil` without a proxy, or if the transport does not know it.
    func proxy(of request: HTTPRequest) -> String?

    /// Sends a request and reports the response: see `Transport.send(_:receive:)`.
    /// - Parameters:
    ///   - request: The request.
    ///   - control: The pipeline's hold; `nil` outside of a pipeline.
    ///   - receive: Receives the events.
    func send(
        _ request: HTTPRequest, under control: (any ExchangeControl)?, receive: @escaping @Sendable (TransportEvent) async throws -> Void
    ) async throws
}

extension ControlledTransport {
    package var limitsConnecting: Bool { false }
    package func proxy(of request: HTTPRequest) -> String? { nil }
}

extension Transport {
    /// This transport as one that takes the pipeline's hold.
    package var controlled: any ControlledTransport { self as? any ControlledTransport ?? ForeignTransport(transport: self) }
}

/// A transport of the application. It takes no hold: only cancellation stops it.
private struct ForeignTransport: ControlledTransport {
    let transport: any Transport

    var isStoppable: Bool { false }

    func send(
        _ request: HTTPRequest, under control: (any ExchangeControl)?, receive: @escaping @Sendable (TransportEvent) async throws -> Void
    ) async throws {
        try await transport.send(request, receive: receive)
    }

    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try await transport.send(request, receive: receive)
    }
}
