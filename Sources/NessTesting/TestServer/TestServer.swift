import Foundation
import NessHTTP

/// A real HTTP/1.1 server on 127.0.0.1, for tests: it answers with a handler, or does with each connection whatever a script says. With a
/// certificate of a `TestAuthority` it speaks TLS; with replies such as `Reply.tunnel(toPort:)` it is a proxy.
///
/// ```swift
/// let server = try await TestServer.start { request in
///     request.path == "/hello" ? .text("hi") : .status(404)
/// }
/// // … send requests to server.url …
/// await server.stop()
/// ```
/// Keep-alive, pipelining, chunked bodies both ways and `Expect: 100-continue` work as in any server. A request that breaks the protocol is
/// answered with 400, one whose head is larger than 1 MiB with 431, one whose body is larger than 1 GiB with 413, and the connection closes.
///
/// Each connection has a thread of its own, so a script may block; 1,000 connections are fine where the process may open enough
/// files (`ulimit -n`, which is 256 on macOS unless raised): one for each connection, and two more while its handler takes longer than a moment or
/// its script waits at a gate. The server runs until `stop()`, or until nobody refers to it any more.
public final class TestServer: Sendable {
    /// Answers a request. Runs as a task of its own, off the main thread, one at a time for each connection. The task is cancelled when the
    /// client closes the connection or the server stops; a handler that takes no notice keeps its connection open, but not `stop()`, waiting.
    /// What it throws is answered with a 500 and the error's text.
    public typealias Handler = @Sendable (ReceivedRequest) async throws -> Reply

    /// The server's counters at one moment.
    public struct Statistics: Sendable, Hashable {
        /// The requests that have been read whole, body included.
        public var requestCount = 0
        /// The connections that have been accepted, open or not.
        public var connectionCount = 0
        /// The connections that are open now. One whose client has closed counts until the server has noticed.
        public var openConnections = 0
        /// The open connections on which an exchange is going on: from a request's head to the end of its reply. The others are idle: a
        /// client keeps them for its next requests.
        public var busyConnections = 0
        /// The bytes that have been received on all connections.
        public var bytesReceived = 0

        /// Counters at zero.
        public init() {}
    }

    /// Where the server is: `http://127.0.0.1:` and the port, without a slash at the end; `https` where it has a certificate.
    public let url: URL
    /// The port it listens on.
    public let port: Int
    private let core: ServerCore

    private init(
        port: UInt16, certificate: TestCertificate?, recordsRequests: Bool, behaviour: ServerCore.Behaviour
    ) throws {
        let tls = try certificate.map { try TLSContext($0) }
        let stopPipe = try WakePipe()
        let listener = try Listener(port: port)
        let scheme = tls == nil ? "http" : "https"
        guard let url = URL(string: "\(scheme)://127.0.0.1:\(listener.port)") else { throw TestServerError(operation: "URL", code: 0) }
        self.url = url
        self.port = Int(listener.port)
        core = ServerCore(listener: listener, stopPipe: stopPipe, tls: tls, behaviour: behaviour, recordsRequests: recordsRequests)
        core.start()
    }

    deinit { core.beginStop() }

    /// Starts a server that answers requests.
    /// - Parameters:
    ///   - port: The port, or 0 for one that the system picks.
    ///   - certificate: Has the server speak TLS and show this; nil for plain HTTP.
    ///   - recordsRequests: Whether `requests` keeps what comes in.
    ///   - handler: Answers each request. Runs as a task of its own, off the main thread.
    /// - Returns: The server, already listening.
    /// - Throws: `TestServerError` when the port is taken, or the process has no descriptors left.
    public static func start(
        port: UInt16 = 0, certificate: TestCertificate? = nil, recordsRequests: Bool = true, _ handler: @escaping Handler
    ) async throws -> TestServer {
        try TestServer(port: port, certificate: certificate, recordsRequests: recordsRequests, behaviour: .handler(handler))
    }

    /// Starts a server that does with each connection what a script says, from before the first byte.
    /// - Parameters:
    ///   - port: The port, or 0 for one that the system picks.
    ///   - certificate: Has the server speak TLS and show this; nil for plain HTTP.
    ///   - recordsRequests: Whether `requests` keeps what `.receiveRequest` reads.
    ///   - script: Gives the steps for a connection. Runs on the connection's own thread as soon as it has been accepted.
    /// - Returns: The server, already listening.
    /// - Throws: `TestServerError` when the port is taken, or the process has no descriptors left.
    public static func start(
        port: UInt16 = 0, certificate: TestCertificate? = nil, recordsRequests: Bool = true,
        script: @escaping @Sendable (_ connection: ConnectionInfo) -> [ConnectionStep]
    ) async throws -> TestServer {
        try TestServer(port: port, certificate: certificate, recordsRequests: recordsRequests, behaviour: .script(script))
    }

    /// The requests that have been received, oldest first: the newest 10,000, with at most 64 MiB of bodies, beyond which the oldest
    /// lose theirs (`isBodyDropped`).
    public var requests: [ReceivedRequest] { core.requests }

    /// All counters at once.
    public var statistics: Statistics { core.statistics }

    /// How many requests have been read whole.
    public var requestCount: Int { statistics.requestCount }

    /// How many connections have been accepted, open or not.
    public var connectionCount: Int { statistics.connectionCount }

    /// How many connections are open now.
    public var openConnections: Int { statistics.openConnections }

    /// How many connections have an exchange going on now.
    public var busyConnections: Int { statistics.busyConnections }

    /// Suspends until the counters meet a condition, such as `{ $0.busyConnections == 0 }`. Looks again at each change, never on a timer.
    /// - Parameter predicate: The condition. Runs in the calling task.
    /// - Returns: Whether the condition was met; false when the task was cancelled or the server has stopped before.
    @discardableResult
    public func waitUntil(_ predicate: @Sendable (Statistics) -> Bool) async -> Bool { await core.wait(until: predicate) }

    /// Closes the listener and every connection, cancels the handlers that still run, and returns when every thread has ended.
    /// Calling it again does nothing more.
    ///
    /// A client that is in the middle of a reply sees its connection reset, one that waits for nothing an orderly end.
    public func stop() async {
        core.beginStop()
        await core.ended()
    }
}
