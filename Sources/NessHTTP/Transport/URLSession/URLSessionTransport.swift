import Foundation
import NessLock

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A transport that uses URLSession with delegate-based data tasks. It is the default on Apple platforms.
///
/// On Linux a manager uses it only if its configuration sets it, `$0.transport = URLSessionTransport()`, or if the environment variable
/// `NESS_TRANSPORT` is `urlsession`.
///
/// It uses no cookies, no cache and no credential storage, and follows no redirect. It rejects the server's challenges to authenticate, so
/// that a 401 is an ordinary response. It never blocks its caller: a private queue calls URLSession, and a canceled exchange settles
/// immediately.
///
/// ## On Apple platforms
/// A server that requests a client certificate receives the host's identity: see `Ness.Configuration.clientIdentities`. If the host has
/// none, and for proxies, the system chooses from the user's identities.
///
/// URLSession withholds the head and the first 512 bytes of a `text/*` response, and of a response without a `Content-Type`, to guess its
/// type. If the first bytes matter immediately, the server has to send `application/octet-stream`.
///
/// When a kept-alive connection dies, URLSession repeats idempotent requests itself. A POST fails with `NessError.Kind.connectionLost`, and
/// the server may have acted.
///
/// ## On Linux
/// swift-corelibs-foundation uses libcurl. When a kept-alive connection dies, libcurl repeats the request on its own, without its body.
/// Therefore requests with a body and requests that are not idempotent get a separate connection on Linux, and send
/// `Connection: close`. Over https this costs about 20 ms of CPU for each request, because libcurl reads the system's certificates again. A
/// GET or DELETE may be sent twice unnoticed; `set(isIdempotent: false)` prevents that at the same cost.
///
/// **Proxies and certificates.** Proxies come from the environment: `http_proxy`, in lower case, for http; `https_proxy`, `HTTPS_PROXY`, or
/// else `all_proxy`, `ALL_PROXY` for https. `no_proxy` or `NO_PROXY` lists hosts without a proxy. If a proxy rejects a tunnel, the request
/// fails with `NessError.Kind.cannotConnect`, and the reason contains the proxy's status. Certificates are checked against the system's,
/// usually `/etc/ssl/certs/ca-certificates.crt`. No variable or setting changes that, and client certificates are not supported.
///
/// **Header fields.** A request is sent with its own fields, and with `Host`, `Connection`, `Content-Length` or `Transfer-Encoding`. If it
/// has no `Accept`, `User-Agent` or body `Content-Type`, the transport sends `*/*`, the program's name, and `application/octet-stream`,
/// because many servers reject requests without them. The user's language is not sent, unless the request sets `Accept-Language`: see
/// `HTTPHeaders.standardAcceptLanguage`. On Apple platforms, URLSession cannot omit that field, and sends `*`, any language.
///
/// **Compression.** URLSession decompresses bodies without noticing that one was cut short. Therefore requests send
/// `Accept-Encoding: identity`, and a compressed body is an error. If a request sets `Accept-Encoding` itself, its bodies are decompressed,
/// and a truncated body may go unnoticed.
///
/// **Bodies.** A body with files is streamed from disk; one of up to 1 MiB is read into memory. URLSession sends a stream with chunked
/// coding and without a Content-Length, and a server that does not support chunks may read none of it. A body from a sequence is read to
/// its end before anything is sent: up to 1 MiB into memory, a longer one into a file without a name in the temporary folder. The idle
/// timeout restarts with each piece.
///
/// **Interim responses** are not reported, and a request with the option `ExpectsContinue` is sent without an expectation.
///
/// **Back pressure.** URLSession cannot slow a server down: bytes of a stream or a download that arrive faster than they are processed wait
/// in a temporary file, up to 1 GiB. A stream that falls further behind fails. A download then continues with ranges, if the server
/// supports them. One thread reads for the whole process, and reads from one socket as long as that socket has bytes. A server that sends
/// faster than that thread can read delays all other exchanges. On Apple platforms the task is suspended while the receiver is behind,
/// and the bytes that arrive nevertheless wait in the same kind of file.
///
/// **Crashes.** Some servers crash the process, regardless of the library above URLSession: servers that send trailers, and servers that
/// close the connection cleanly in the middle of the header. IPv6 literals such as `http://[::1]/` are not supported and fail with a clear
/// error.
public final class URLSessionTransport: ControlledTransport {
    private let configuration: @Sendable () -> URLSessionConfiguration
    /// The proxies of the configuration on Apple platforms. Empty on Linux, where they come from the environment.
    public let route: String
    private let prepare: @Sendable (inout URLRequest, HTTPRequest) -> Void
    /// The hosts that may receive the system's credentials.
    private let systemHosts: HostRules<Bool>
    let sessions: SessionPool
    private var system: URLSessionSystem { sessions.source.system }
    #if canImport(FoundationNetworking)
    /// The proxy of the environment, which libcurl uses.
    package func proxy(of request: HTTPRequest) -> String? {
        ProxyEnvironment.proxy(for: request.origin).map { CurlNames.Name(ofProxy: $0).description }
    }
    #endif
    /// The timeout that never passes: a week, in seconds.
    static let never: TimeInterval = 7 * 24 * 60 * 60

    /// Makes a transport with a separate session.
    /// - Parameters:
    ///   - configure: Changes the configuration of a new session, such as its proxies or its TLS versions. The pipeline sets cookies,
    ///     cache, credentials, additional headers, timeouts and limits, and overrides those of the closure. On Apple platforms, a session
    ///     that replaces an idle one has the same configuration. On Linux the closure is called for every session, and some requests have
    ///     a separate session. There only `protocolClasses` has an effect: proxies, TLS versions, service types and waiting for a network
    ///     have none.
    ///   - prepare: Changes a request just before URLSession receives it, to set properties that only URLSession has, such as
    ///     `networkServiceType`. It must not change the method, the URL or the body, by which the pipeline knows the request. A changed
    ///     method or URL fails the exchange with `NessError.Kind.invalidRequest`. Runs off the main thread, once for each exchange.
    ///   - systemCredentials: The hosts whose servers may get the user's system credentials by Negotiate (Kerberos) or NTLM, without a
    ///     question. For the form of a host, see `ServerTrust`. A mistake in one fails every request. Has no effect on Linux.
    public convenience init(
        configure: @escaping @Sendable (URLSessionConfiguration) -> Void = { _ in },
        prepare: @escaping @Sendable (inout URLRequest, HTTPRequest) -> Void = { _, _ in }, systemCredentials: [String] = []
    ) {
        self.init(configure, prepare, systemCredentials, onServerTrust: nil)
    }

    init(
        _ configure: @escaping @Sendable (URLSessionConfiguration) -> Void,
        _ prepare: @escaping @Sendable (inout URLRequest, HTTPRequest) -> Void, _ systemCredentials: [String],
        onServerTrust answer: TrustAnswer, source: SessionSource = SessionSource()
    ) {
        var source = source
        source.onServerTrust = answer
        sessions = SessionPool(source)
        self.prepare = prepare
        let hosts = Dictionary(systemCredentials.map { ($0, true) }) { first, _ in first }
        systemHosts = HostRules("systemCredentials", hosts) { isListed, _ in isListed }
        configuration = {
            let configuration = URLSessionConfiguration.ephemeral
            configure(configuration)
            configuration.httpAdditionalHeaders = nil
            // The pipeline has its own timeouts. URLSession's is a large finite number of whole seconds, the only kind that works on every
            // platform.
            configuration.timeoutIntervalForRequest = Self.never
            configuration.timeoutIntervalForResource = Self.never
            configuration.urlCache = nil
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            #if canImport(FoundationNetworking)
            configuration.urlCredentialStorage = nil
            #else
            configuration.urlCredentialStorage = systemCredentials.isEmpty ? nil : .shared
            #endif
            configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
            // The pipeline limits connections. While a request waited inside URLSession, its timers would run.
            configuration.httpMaximumConnectionsPerHost = 1_000
            return configuration
        }
        #if canImport(FoundationNetworking)
        route = ""
        #else
        let proxies = configuration().connectionProxyDictionary ?? [:]
        route = proxies.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: "\n")
        #endif
    }

    deinit { sessions.finish() }

    /// All on Apple platforms: requests with the same demands share connections that were opened with these demands.
    public var tlsCapabilities: TLSCapabilities { system == .apple ? .all : [] }

    /// Rejects new requests, and closes every connection. Returns when URLSession reports that its sessions have ended, or after five
    /// seconds, because URLSession never reports the end of a task that it has lost.
    public func shutdown() async { await sessions.shutdown() }

    /// Sends a request and reports the response. The events arrive in the calling task.
    /// - Parameters:
    ///   - request: The request.
    ///   - receive: Receives the events, in order.
    /// - Throws: `TransportError`, the error of `receive`, or `CancellationError`.
    public func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try await send(request, under: nil, receive: receive)
    }

    package var isStoppable: Bool { true }

    package func send(
        _ request: HTTPRequest, under control: (any ExchangeControl)?, receive: @escaping @Sendable (TransportEvent) async throws -> Void
    ) async throws {
        let request = system == .linux ? try await Self.collected(request, receive) : request
        // libcurl may reuse a connection that only seems to be alive, and would repeat the request. On a shared connection, an unsolicited
        // response would be taken for the body of a stream or a download.
        let isOwn = system == .linux && (request.needsYoungConnection || control?.streamsResponse == true)
        var made = try Self.makeURLRequest(request, on: system)
        // With `close`, both sides close the connection before the exchange ends. Otherwise it would stay open until the session is
        // released, although the host's slot was freed before.
        if isOwn { made.setValue("close", forHTTPHeaderField: HeaderName.connection) }
        let streamed = try Self.place(request.body, in: &made, on: system)
        prepare(&made, request)
        guard made.url == request.url, made.httpMethod == request.method.rawValue else {
            throw TransportError(.invalidRequest, "`prepare` must not change the method or the URL")
        }
        let urlRequest = made, usesSystem = try usesSystemCredentials(for: request)
        try Task.checkCancellation()
        let session = sessions.session(for: request, isOwn: isOwn)
        session.configure(configuration)
        let exchange = URLSessionExchange(
            request, streaming: streamed, under: control, usesSystemCredentials: usesSystem, over: sessions.source)
        control?.onStop(exchange.cancel)
        try await withTaskCancellationHandler {
            let priority = RequestPriority(of: request), description = request.description
            ExchangeSession.startQueue.async {
                session.start(exchange, urlRequest, priority: priority, description: description, isLast: isOwn)
            }
            do {
                try await exchange.mailbox.deliver(to: receive, resume: exchange.adjustFlow)
            } catch {
                // Has no effect if the exchange itself has ended with this error.
                exchange.cancel(error)
                throw error
            }
        } onCancel: {
            exchange.cancel(CancellationError())
        }
    }

    /// Collects a body from a sequence on Linux, where URLSession reads the bodies of all requests on one thread, which must not wait.
    private static func collected(
        _ request: HTTPRequest, _ receive: @Sendable (TransportEvent) async throws -> Void
    ) async throws -> HTTPRequest {
        #if canImport(FoundationNetworking)
        guard let body = request.body, body.isStreamed else { return request }
        var request = request
        // The event restarts the idle timeout with each piece.
        request.body = try await CollectedBody.collect(body) { try await receive(.sent(0)) }
        return request
        #else
        return request
        #endif
    }

    private func usesSystemCredentials(for request: HTTPRequest) throws -> Bool {
        do {
            return try systemHosts.value(for: request) ?? false
        } catch {
            throw TransportError(.invalidRequest, "\(error)")
        }
    }
}

extension URLSessionTransport: CustomStringConvertible {
    /// The name of the transport.
    public var description: String { "URLSessionTransport" }
}
