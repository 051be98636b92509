import Foundation

/// Sends one request over the network and reports the response.
///
/// A transport is the last part of the pipeline. The manager's `Configuration.transport` sets it. The pipeline above does the rest for
/// every transport: redirects, retries, timeouts, connection limits, cookies, the cache, validation and size limits. A transport must not
/// do any of these.
///
/// ```swift
/// struct Canned: Transport {
///     func send(
///         _ request: HTTPRequest,
///         receive: @escaping @Sendable (TransportEvent) async throws -> Void
///     ) async throws {
///         try await receive(.head(statusCode: 200, headers: [:]))
///         try await receive(.body(Data("canned".utf8)))
///     }
/// }
///
/// let ness = Ness { $0.transport = Canned() }
/// ```
///
/// **When it is called.** The pipeline calls `send` once for each exchange: for each attempt, each redirect and each range of a download.
/// The request is final. Its URL is absolute, its method and header fields are valid, and its body can be read: the reader of
/// `HTTPBody.makeReader()` returns it in chunks, with `next(upTo:)`. Read a chunk only after the connection has accepted the previous one:
/// the body may be an endless sequence. Read it once, and release the reader when the exchange ends. The transport adds `Host`, and
/// `Content-Length` or, if `HTTPBody.length` is `nil`, `Transfer-Encoding`.
///
/// **Events.** The transport calls `receive` with the number of body bytes sent so far, then once with the head, then with each chunk of
/// the body. Before the head it may report interim responses, whose number it has to limit, and the measurements of the connection. `send`
/// returns when the response is complete. The pipeline compares the body's length with `Content-Length`. A return without a head counts as
/// a malformed response.
///
/// **Threads.** `send` runs off the main thread and is called concurrently for many requests. `receive` may be called from any task, but
/// only one call at a time. No call follows the return of `send`.
///
/// **Back pressure.** `receive` returns when the pipeline is ready for the next event. A slow reader of a stream, or a slow disk, makes it
/// wait, without blocking a thread. The transport then stops reading from the server. It must not collect an unlimited number of bytes
/// meanwhile. The idle timeout does not run while `receive` waits; the deadline does. If the calling task is canceled, `receive` throws
/// `CancellationError` immediately.
///
/// **Errors.** `send` throws a `TransportError`. Its kind decides about retries. After `.offline` and `.cannotConnect` the pipeline assumes
/// that the request never reached the server. It may then retry even a request that is not idempotent. After `.tls` and `.addressRejected`
/// it does not retry. Use these kinds only if no byte was sent. An error of `receive` ends the exchange and passes unchanged.
///
/// **Cancellation.** A dropped promise or a timeout cancels the calling task. The transport then closes the connection and throws
/// `CancellationError` immediately. The caller's promise does not wait for it, but the request keeps its place in the host's connection
/// limit until `send` has ended.
///
/// **Testing.** `TransportConformance` of `NessTesting` checks a transport against these rules, on real sockets. For further tests, give a
/// manager the transport and a `TestServer`. The server closes connections, sends partial responses and is silent on command. To test code
/// above the transport, use `MockTransport` instead.
///
/// ```swift
/// let report = await TransportConformance.run({ MyTransport() })
/// #expect(report.isPassed, "\(report)")
/// ```
public protocol Transport: Sendable {
    /// A Boolean value that indicates whether the transport can deliver a body with its content coding. It then does so for requests with
    /// the option `KeepsContentCoding`. False by default.
    var keepsContentCoding: Bool { get }

    /// A Boolean value that indicates whether the transport reports interim responses other than 100 while it sends the request's body. A
    /// resumable upload may then start with a request that carries the file. False by default.
    var reportsInterimResponses: Bool { get }

    /// A string that identifies the route to a server. Transports with different proxies, sockets or client certificates have different
    /// routes. Empty by default.
    ///
    /// A server may respond differently on each route, so managers that share an `HTTPCache` share only the responses of one route. The
    /// string may contain secrets, such as the password of a proxy: do not log it. The cache writes only digests of it to its folder. A
    /// transport that wraps another one returns that one's route.
    var route: String { get }

    /// The demands of a request (`HTTPRequest.tlsDemands`) that the transport meets. None by default: a request to a host with a rule in
    /// `Ness.Configuration.serverTrust` or `clientIdentities` then fails before it is sent.
    var tlsCapabilities: TLSCapabilities { get }

    /// Sends a request and reports the response.
    ///
    /// When the calling task is canceled, the exchange ends, its connection is closed, and `CancellationError` is thrown without waiting
    /// for either.
    /// - Parameters:
    ///   - request: The request. The pipeline has checked its URL, method and header fields.
    ///   - receive: Receives the events in order, one at a time, in any task. The transport waits for its return before the next call. If
    ///     it throws, the exchange ends with that error.
    /// - Throws: `TransportError`, the error of `receive`, or `CancellationError`.
    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws

    /// Shuts the transport down. Returns when its sockets, threads and timers are gone.
    ///
    /// `Ness.shutdown(within:)` calls this method after the last exchange has ended. It may be called more than once. Afterwards `send`
    /// throws a `TransportError`. The default implementation does nothing.
    func shutdown() async
}

extension Transport {
    /// Returns false: the transport removes the content coding of every body.
    public var keepsContentCoding: Bool { false }

    /// Returns false: the transport may skip interim responses.
    public var reportsInterimResponses: Bool { false }

    /// Returns the empty string.
    public var route: String { "" }

    /// Returns the empty set: the transport meets no demands.
    public var tlsCapabilities: TLSCapabilities { [] }

    /// Returns immediately.
    public func shutdown() async {}
}

/// An event in an exchange, which a `Transport` reports.
public enum TransportEvent: Sendable {
    /// The number of bytes of the request's body that were sent so far.
    case sent(Int64)
    /// The measurements of the connection. They are reported at most once, by a transport that knows them.
    indirect case connection(ConnectionMetrics)
    /// An interim (1xx) response, such as 103 (Early Hints, RFC 8297). Interim responses come before the head. A transport that cannot tell
    /// them apart reports none.
    case interim(statusCode: Int, headers: HTTPHeaders)
    /// The head of the response. It is reported once.
    case head(statusCode: Int, headers: HTTPHeaders)
    /// The next bytes of the response's body, with any content coding removed unless the request's option `KeepsContentCoding` is true.
    case body(Data)
    /// The trailer fields behind the body (RFC 9110, 6.5). They are reported at most once, by a transport that knows them.
    case trailers(HTTPHeaders)
}
