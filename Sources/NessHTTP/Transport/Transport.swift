import Foundation

/// The wire: does one exchange and nothing else.
///
/// Redirects, timeouts, host limits, validation and size limits live above it, so that every transport has them. Following a
/// redirect, storing cookies or answering from a cache is not a transport's business.
public protocol Transport: Sendable {
    /// True if the transport hands on a body with its content coding where a request asks for it by the option `KeepsContentCoding`. False
    /// unless given.
    var keepsContentCoding: Bool { get }

    /// Sends a request and reports what comes back.
    ///
    /// When the task that calls is cancelled, the exchange ends, its connection is closed, and `CancellationError` is thrown
    /// without waiting for either.
    /// - Parameters:
    ///   - request: What to send. It has been checked: URL, method and headers can be sent as they are.
    ///   - receive: Takes what happens, in order, one event at a time, on whatever thread the transport uses; it returns soon.
    ///     When it throws, the exchange ends with that error.
    /// - Throws: `TransportError`, what `receive` threw, or `CancellationError`.
    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) throws -> Void) async throws

    /// Takes no more requests, and returns when the sockets, threads and timers of the transport are gone.
    ///
    /// `Ness.shutdown(within:)` calls it when no exchange runs any more. It may be called more than once; `send` throws a `TransportError`
    /// afterwards. Does nothing unless given.
    func shutdown() async
}

extension Transport {
    /// Returns false: bodies come without their content coding.
    public var keepsContentCoding: Bool { false }

    /// Returns at once.
    public func shutdown() async {}
}
