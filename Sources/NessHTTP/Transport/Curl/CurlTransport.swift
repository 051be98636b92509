#if os(Linux)
import CNessCurl

/// A transport that uses libcurl directly. It is the default on Linux.
///
/// It uses the libcurl that Foundation has already loaded, so that no installation is necessary. If the process has none, or one before
/// 7.76, every request of a manager without another transport fails with `NessError.Kind.invalidRequest`, which names the version found.
/// Events reach `receive` in the task that called `send`: a slow receiver slows the server down.
///
/// Threads of the transport drive the exchanges. They start when they are needed, and end with the transport. There are at most as many as
/// the machine has cores, and at most eight. An origin uses one thread for its first eight exchanges in flight, another one for the next
/// eight, and so on. Where HTTP/2 may be used, the number is a hundred instead of eight, because a hundred requests fit on one connection.
/// Downloads and streams are counted apart, and start at another thread. Each thread has separate connections, but for each of the two
/// kinds, the threads together open no more connections to an origin than it had exchanges in flight. A thread without exchanges for two
/// minutes closes its connections.
///
/// A body from a sequence or a file is read as the connection takes it. Without a known length it is sent in chunks over HTTP/1.1.
///
/// A request that must not be sent twice is never repeated. libcurl would repeat it when a kept-alive connection turns out to be dead; this
/// transport prevents that.
///
/// Host names are looked up by the system's resolver, as `/etc/nsswitch.conf` sets it up, on at most 16 threads of the process.
/// Simultaneous look-ups of a name share one thread. The system cannot end a look-up early: `shutdown()` does not wait for one that hangs.
///
/// When the process exits, the transport's threads stop before OpenSSL releases its memory. Requests in flight then do not end.
///
/// Without options, certificates are checked against the system's, proxies come from the environment, and HTTP/2 is used over TLS where the
/// server speaks it: see `Options`.
public final class CurlTransport: ControlledTransport {
    private let engines: CurlEngines

    /// Makes a transport.
    ///
    /// The options are checked in this call: strings are parsed, and each feature of libcurl is tried. Only the first connection can tell
    /// if a proxy, a unix socket or an interface exists.
    /// - Parameter configure: Changes the options. Runs during this call.
    /// - Throws: An error if the process has no libcurl, or one before 7.76. An error that names the option and the fault if a value is
    ///   invalid, or if this libcurl lacks the feature.
    public init(_ configure: (inout Options) -> Void = { _ in }) throws {
        var options = Options()
        configure(&options)
        engines = CurlEngines(try CurlSettings(options))
    }

    init(_ engines: CurlEngines) { self.engines = engines }

    deinit { engines.stop() }

    /// The version of libcurl and of its TLS library, as libcurl's text. `nil` if there is no usable libcurl.
    public static var libraryVersion: String? { CurlLibrary.shared?.description }

    /// True: a body keeps its content coding if the request has the option `KeepsContentCoding`.
    public var keepsContentCoding: Bool { true }

    /// Returns true: interim responses are reported while the body is sent.
    public var reportsInterimResponses: Bool { true }

    /// The proxy, the unix socket, the local end and the host entries of the options. Empty without any. It may contain the password of the
    /// proxy.
    public var route: String { engines.settings.route }

    /// All capabilities.
    public var tlsCapabilities: TLSCapabilities { .all }

    /// Ends the exchanges in flight with `CancellationError`, and returns when all connections are closed. The threads end then.
    public func shutdown() async {
        engines.stop()
        await engines.waitUntilClosed()
    }

    /// Sends a request and reports the response. The events arrive in the calling task.
    /// - Parameters:
    ///   - request: The request.
    ///   - receive: Receives the events, in order.
    /// - Throws: `TransportError`, the error of `receive`, or `CancellationError`.
    public func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try await send(request, under: nil, receive: receive)
    }

    package var isStoppable: Bool { true }

    /// False before libcurl 7.80, which does not report that it is about to send.
    package var limitsConnecting: Bool { engines.settings.library.keepsConnections }

    package func proxy(of request: HTTPRequest) -> String? { engines.settings.proxy(for: request.origin)?.description }

    package func send(
        _ request: HTTPRequest, under control: (any ExchangeControl)?, receive: @escaping @Sendable (TransportEvent) async throws -> Void
    ) async throws {
        try Task.checkCancellation()
        let exchange = try CurlExchange(request, control)
        let engine = try engines.engine(for: exchange)
        control?.onStop { error in
            exchange.mailbox.cancel(error)
            engine.post(.cancel(exchange))
        }
        try await withTaskCancellationHandler {
            try engine.start(exchange)
            do {
                try await exchange.mailbox.deliver(to: receive) { engine.post(.resume(exchange)) }
            } catch {
                // This has no effect if the exchange has already ended.
                engine.post(.cancel(exchange))
                exchange.mailbox.cancel(error)
                throw error
            }
        } onCancel: {
            exchange.mailbox.cancel(CancellationError())
            engine.post(.cancel(exchange))
        }
    }
}

extension CurlTransport: CustomStringConvertible {
    /// The name of the transport, with the newest version of HTTP that it uses and the versions of libcurl and of its TLS library.
    public var description: String {
        let settings = engines.settings
        let connections = settings.library.keepsConnections ? "" : ", a new connection for each request"
        return "CurlTransport (\(settings.allowsHTTP2 ? "HTTP/2" : "HTTP/1.1")\(connections), \(settings.library.description))"
    }
}
#endif
