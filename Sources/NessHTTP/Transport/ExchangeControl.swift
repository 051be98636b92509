import Foundation

/// Connects one exchange of Ness's own transports to the pipeline: the pipeline can stop it, and the transport reads what it needs besides
/// the request.
package protocol ExchangeControl: AnyObject, Sendable {
    /// True if the response's body is processed as it arrives, perhaps slowly, and not collected in memory.
    var streamsResponse: Bool { get }
    /// The number of the call's attempt, counted from 1.
    var attempt: Int { get }
    /// The base URL of the call's environment; `nil` if it has none.
    var baseURL: URL? { get }

    /// Occupies a slot of the host's connection limit. Called by a transport whose connections can outlive `send`.
    /// - Returns: False if the request was abandoned. It must not be sent.
    func occupySlot() -> Bool

    /// Frees the slot, because the connection is closed or idle.
    func releaseSlot()

    /// The longest time until a connection is ready, from the exchange's start; `nil` for no limit. The pipeline enforces it.
    var connectTimeout: Duration? { get }

    /// Notes that a connection is ready. Call this just before the first byte of the request is sent.
    /// - Returns: False if the request was stopped. It must not be sent.
    func didConnect() -> Bool

    /// Notes that the request waits for a network. It gives up its slots, and its idle timer stops until bytes move.
    func waitsForNetwork()

    /// Notes that bytes have moved that no event reports yet, such as lines of an incomplete header.
    func bytesDidMove()

    /// Sets the closure that ends the request immediately with an error. It runs on any thread, and during this call if the request was
    /// stopped before. A closure that is already set stays: it belongs to an outer transport, which cancels the task of the inner one.
    func onStop(_ end: @escaping @Sendable (any Error) -> Void)
}

/// A transport of Ness, which receives an `ExchangeControl` with each request.
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
    ///   - control: The connection to the pipeline. `nil` outside of a pipeline.
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
    /// This transport as a `ControlledTransport`. A custom transport is wrapped.
    package var controlled: any ControlledTransport { self as? any ControlledTransport ?? ForeignTransport(transport: self) }
}

/// A custom transport. It receives no `ExchangeControl`, so only the cancellation of its task stops it.
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
