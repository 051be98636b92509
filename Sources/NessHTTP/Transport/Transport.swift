import Foundation

/// Sends one request over the network and reports the response.
///
/// A transport is the last part of the pipeline. The manager's `Configuration.transport` sets it. The pipeline above does the rest for
/// every transport: redirects, retries, timeouts, connection limits, cookies, the cache, validation and size limits. A transport must not
/// do any of these.
///
/// ```swift
/// struct Canned: Transport {
///     func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) throws -> Void) async throws {
///         try receive(.head(statusCode: 200, headers: [:]))
///         try receive(.body(Data("canned".utf8)))
///     }
/// }
///
/// let ness = Ness { $0.transport = Canned() }
/// ```
///
/// **When it is called.** The pipeline calls `send` once for each exchange: for each attempt, each redirect and each range of a download.
/// The request is final. Its URL is absolute, its method and header fields are valid, and its body can be read: `HTTPBody.makeReader()`
/// reads it piece by piece. The transport adds `Host`, `Content-Length` or `Transfer-Encoding`.
///
/// **Events.** The transport calls `receive` with the number of body bytes sent so far, then once with the head, then with each piece of
/// the body. Before the head it may report interim responses, whose number it has to limit, and the measurements of the connection. `send`
/// returns when the response is complete. The pipeline compares the body's length with `Content-Length`. A return without
/// a head counts as a malformed response.
///
/// **Threads.** `send` runs off the main thread and is called concurrently for many requests. `receive` may be called on any thread, but
/// only one call at a time. It may write to a disk, and never waits for the network. A transport with back pressure stops reading until
/// `receive` has returned.
///
/// **Errors.** `send` throws a `TransportError`. Its kind decides about retries: after `.offline`, `.cannotConnect` and `.tls` the pipeline
/// assumes that the server has not seen the request, and may also repeat a request that is not idempotent. Use these kinds only if no byte
/// was sent. An error of `receive` ends the exchange and passes unchanged.
///
/// **Cancellation.** A drop and a timeout cancel the calling task. The transport then closes the connection and throws
/// `CancellationError` at once. The caller's promise does not wait for it, but the request keeps its place in the host's connection limit
/// until `send` has ended.
///
/// **Testing.** Give a manager the transport and a `TestServer` of `NessTesting`. The server closes connections, sends partial responses
/// and is silent on command. To test code above the transport, use `MockTransport` instead.
public protocol Transport: Sendable {
    /// A Boolean value that indicates whether the transport can deliver a body with its content coding. It then does so for requests with
    /// the option `KeepsContentCoding`. False by default.
    var keepsContentCoding: Bool { get }

    /// Sends a request and reports the response.
    ///
    /// When the calling task is cancelled, the exchange ends, its connection is closed, and `CancellationError` is thrown without waiting
    /// for either.
    /// - Parameters:
    ///   - request: The request. The pipeline has checked its URL, method and header fields.
    ///   - receive: Receives the events in order, one at a time, on any thread. If it throws, the exchange ends with that error.
    /// - Throws: `TransportError`, the error of `receive`, or `CancellationError`.
    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) throws -> Void) async throws

    /// Shuts the transport down. Returns when its sockets, threads and timers are gone.
    ///
    /// `Ness.shutdown(within:)` calls this method after the last exchange has ended. It may be called more than once. Afterwards `send`
    /// throws a `TransportError`. The default implementation does nothing.
    func shutdown() async
}

extension Transport {
    /// Returns false: the transport removes the content coding of every body.
    public var keepsContentCoding: Bool { false }

    /// Returns at once.
    public func shutdown() async {}
}
