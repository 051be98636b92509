import Foundation
import NessHTTP

/// A real HTTP/1.1 server on 127.0.0.1, for tests. It responds with a handler, or runs a script on each connection. With a certificate of a
/// `TestAuthority` it speaks TLS. With replies such as `Reply.tunnel(toPort:)` it acts as a proxy.
///
/// ```swift
/// let server = try await TestServer.start { request in
///     request.path == "/hello" ? .text("hi") : .status(404)
/// }
/// // … send requests to server.url …
/// await server.stop()
/// ```
/// Keep-alive, pipelining, chunked bodies in both directions and `Expect: 100-continue` work as in any server. The response to a malformed
/// request is a 400, to a head over 1 MiB a 431, and to a body over 1 GiB a 413. In each of these cases the server then closes the
/// connection.
///
/// Each connection has a separate thread, so a script may block. 1,000 connections are fine if the process may open enough files
/// (`ulimit -n`, 256 on macOS by default). A connection takes one file. It takes two more while its handler takes longer than 10 ms, or
/// while its script waits at a gate. The server runs until `stop()`, or until its last reference is released.
public final class TestServer: Sendable {
    /// Responds to a request. Each call runs as a separate task, off the main thread. A connection has at most one call at a time. The task
    /// is canceled when the client closes the connection or the server stops. A handler that ignores cancellation keeps its connection
    /// open, but does not delay `stop()`. An error that the handler throws becomes a 500 with the error's description.
    public typealias Handler = @Sendable (ReceivedRequest) async throws -> Reply

    /// The server's counters at one moment.
    public struct Statistics: Sendable, Hashable {
        /// The number of requests that were read completely, including the body.
        public var requestCount = 0
        /// The number of connections that were accepted, including closed ones.
        public var connectionCount = 0
        /// The number of connections that are open now. A connection that its client has closed counts until the server has noticed.
        public var openConnections = 0
        /// The number of open connections with an exchange in progress: from a request's head to the end of its reply. The others are idle.
        public var busyConnections = 0
        /// The number of bytes received on all connections.
        public var bytesReceived = 0
    }

    /// The server's address: `http://127.0.0.1:` and the port, without a slash at the end; `https` if the server has a certificate.
    public let url: URL
    /// The port that the server listens on.
    public let port: Int
    private let core: ServerCore

    /// Starts a server: see `start`.
    init(
        port: UInt16 = 0, certificate: TestCertificate? = nil, clientAuthority: TestAuthority? = nil, maximumTLSVersion: TLSVersion? = nil,
        recordsRequests: Bool, bodyLimit: Int = IncomingRequest.bodyLimit, behavior: ServerCore.Behavior
    ) throws {
        let tls = try certificate.map { try TLSContext($0, clientAuthority: clientAuthority, maximumVersion: maximumTLSVersion) }
        let stopPipe = try WakePipe()
        let listener = try Listener(port: port)
        let scheme = tls == nil ? "http" : "https"
        guard let url = URL(string: "\(scheme)://127.0.0.1:\(listener.port)") else { throw TestServerError(operation: "URL", code: 0) }
        self.url = url
        self.port = Int(listener.port)
        core = ServerCore(
            listener: listener, stopPipe: stopPipe, tls: tls, behavior: behavior, recordsRequests: recordsRequests,
            bodyLimit: bodyLimit)
        try core.start()
    }

    /// Starts a server that keeps no requests and takes only short ones: one that runs inside an application.
    /// - Parameters:
    ///   - port: The port, or 0 for a free port.
    ///   - bodyLimit: The longest body of a request in bytes. The response to a longer one is a 413.
    ///   - handler: Responds to each request.
    package convenience init(port: UInt16, bodyLimit: Int, _ handler: @escaping Handler) throws {
        try self.init(port: port, recordsRequests: false, bodyLimit: bodyLimit, behavior: .handler(handler))
    }

    deinit { core.beginStop() }

    /// Starts a server that responds to requests.
    /// - Parameters:
    ///   - port: The port, or 0 for a free port.
    ///   - certificate: The server's certificate, with which it speaks TLS; `nil` for plain HTTP.
    ///   - clientAuthority: The certificate authority that must have signed the client's certificate; `nil` if clients need none. Has no
    ///     effect without `certificate`.
    ///   - maximumTLSVersion: The newest version of TLS that the server speaks; `nil` for the newest available.
    ///   - recordsRequests: True if `requests` keeps the received requests.
    ///   - handler: Responds to each request. Each call runs as a separate task, off the main thread.
    /// - Returns: The server, already listening.
    /// - Throws: `TestServerError` if the port is taken, or the process has no descriptors or threads left.
    public static func start(
        port: UInt16 = 0, certificate: TestCertificate? = nil, clientAuthority: TestAuthority? = nil, maximumTLSVersion: TLSVersion? = nil,
        recordsRequests: Bool = true, _ handler: @escaping Handler
    ) async throws -> TestServer {
        try TestServer(
            port: port, certificate: certificate, clientAuthority: clientAuthority, maximumTLSVersion: maximumTLSVersion,
            recordsRequests: recordsRequests, behavior: .handler(handler))
    }

    /// Starts a server that runs a script on each connection, from before the first byte.
    /// - Parameters:
    ///   - port: The port, or 0 for a free port.
    ///   - certificate: The server's certificate, with which it speaks TLS; `nil` for plain HTTP.
    ///   - clientAuthority: The certificate authority that must have signed the client's certificate; `nil` if clients need none. Has no
    ///     effect without `certificate`.
    ///   - maximumTLSVersion: The newest version of TLS that the server speaks; `nil` for the newest available.
    ///   - recordsRequests: True if `requests` keeps the requests that `.receiveRequest` reads.
    ///   - script: Returns the steps for a connection. Runs on the connection's own thread as soon as the connection has been accepted.
    /// - Returns: The server, already listening.
    /// - Throws: `TestServerError` if the port is taken, or the process has no descriptors or threads left.
    public static func start(
        port: UInt16 = 0, certificate: TestCertificate? = nil, clientAuthority: TestAuthority? = nil, maximumTLSVersion: TLSVersion? = nil,
        recordsRequests: Bool = true, script: @escaping @Sendable (_ connection: ConnectionInfo) -> [ConnectionStep]
    ) async throws -> TestServer {
        try TestServer(
            port: port, certificate: certificate, clientAuthority: clientAuthority, maximumTLSVersion: maximumTLSVersion,
            recordsRequests: recordsRequests, behavior: .script(script))
    }

    /// Adds a route that serves requests in place of the handler.
    func install(_ route: ResumableUploads) { core.install(route) }

    /// The received requests, oldest first. The server keeps the newest 10,000, with at most 64 MiB of bodies. Beyond that the oldest
    /// requests lose their bodies (`isBodyDropped`).
    public var requests: [ReceivedRequest] { core.requests }

    /// A snapshot of all counters.
    public var statistics: Statistics { core.statistics }

    /// The number of requests that were read completely.
    public var requestCount: Int { statistics.requestCount }

    /// The number of connections that were accepted, including closed ones.
    public var connectionCount: Int { statistics.connectionCount }

    /// The number of connections that are open now.
    public var openConnections: Int { statistics.openConnections }

    /// The number of connections that have an exchange in progress.
    public var busyConnections: Int { statistics.busyConnections }

    /// Suspends until the counters meet a condition, such as `{ $0.busyConnections == 0 }`. The condition is checked at each change, never
    /// on a timer.
    /// - Parameter predicate: The condition. Runs in the calling task.
    /// - Returns: True if the condition was met; false if the task was canceled or the server stopped before.
    @discardableResult
    public func waitUntil(_ predicate: @Sendable (Statistics) -> Bool) async -> Bool { await core.wait(until: predicate) }

    /// Closes the listener and every connection, cancels the running handlers, and returns when every thread has ended. Further calls do
    /// nothing more.
    ///
    /// A client in the middle of a reply sees a reset. A client on an idle connection sees an orderly end.
    public func stop() async {
        core.beginStop()
        await core.ended()
    }
}

/// The error of a `TestServer` that could not start.
public struct TestServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The system call that failed, such as `"bind"`.
    public let operation: String
    /// The `errno` of the failed call.
    public let code: Int32

    /// The call and the system's text for the code.
    public var description: String { "\(operation) failed: \(String(cString: strerror(code))) (errno \(code))" }
}
