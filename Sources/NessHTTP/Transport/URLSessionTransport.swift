import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The default transport: one exchange over URLSession, by delegate data tasks only.
///
/// It uses no cookies, no cache and no credential storage, follows no redirect, and answers every challenge so that a 401 is a
/// response like any other. Callers never block: URLSession is called on a private queue, and a cancelled exchange settles at once.
///
/// ## On Linux
/// swift-corelibs-foundation runs on libcurl, which sends a request again by itself on a kept-alive connection that died, without
/// its body. Requests with a body, and those that are not idempotent, therefore get a connection of their own there, and say
/// `Connection: close`. Over https that costs some 20 ms of CPU each, because libcurl reads the system's certificates anew. A GET or DELETE that is
/// sent twice nobody hears of; `set(isIdempotent: false)` prevents it at the same price.
///
/// Proxies are the environment's: `http_proxy`, in lower case, for http; `https_proxy`, `HTTPS_PROXY`, or else `all_proxy`, `ALL_PROXY` for
/// https; `no_proxy` or `NO_PROXY` lists hosts that need none. A proxy that refuses a tunnel is `NessError.cannotConnect` with its status in the
/// reason. Certificates are checked against the system's, usually `/etc/ssl/certs/ca-certificates.crt`; no variable and no setting
/// changes that, and client certificates can't be given.
///
/// A request goes out with the fields that it has, and `Host`, `Connection`, `Content-Length` or `Transfer-Encoding`; without `Accept`,
/// `User-Agent` or a body's `Content-Type` of its own, it gets `*/*`, URLSession's, and `application/octet-stream`: many servers refuse requests
/// without. The user's language is not sent.
///
/// It also unpacks compressed bodies without noticing that one was cut short, so none is asked for: requests say
/// `Accept-Encoding: identity`, and a body that comes compressed nevertheless is an error. A request that sets `Accept-Encoding` itself
/// gets its bodies unpacked, and takes that risk.
///
/// A body that holds files is streamed from disk, one of up to 1 MiB as a whole: URLSession there sends a stream chunked, without a
/// Content-Length, and a server that knows no chunks may read none of it. Neither can it slow a server down: what comes faster than it is taken waits in memory. A download that falls behind
/// gives its connection up and goes on with ranges; where the server has none, memory grows. One thread reads for the whole process, and one
/// socket for as long as that has something: what comes faster than it can be read keeps all others waiting.
///
/// Some servers end the process there, whatever is built on top: those that send trailers, or that close cleanly in the middle of the
/// header. IPv6 literals such as `http://[::1]/` can't be reached there and fail with a clear error.
public final class URLSessionTransport: Transport {
    private let configuration: @Sendable () -> URLSessionConfiguration
    private let shared: ExchangeSession
    private let onServerTrust: TrustAnswer
    private let sessions = OpenSessions()
    /// A week.
    private static let never: TimeInterval = 7 * 24 * 60 * 60
    private static let startQueue = DispatchQueue(label: "ness.urlsession.start")

    /// Makes a transport with a session of its own.
    /// - Parameter configure: Changes what a new session is made with, such as its proxies or its TLS versions. Cookies, cache, credentials,
    ///   additional headers, timeouts and limits are the pipeline's: what it sets of those does not count. On Linux, where it is called for every
    ///   session, of which some requests have one to themselves, nothing else counts either, except `protocolClasses`: proxies, TLS versions,
    ///   service types and waiting for a network have no effect there.
    public convenience init(configure: @escaping @Sendable (URLSessionConfiguration) -> Void = { _ in }) {
        self.init(configure, onServerTrust: { _ in (.performDefaultHandling, nil) })
    }

    init(_ configure: @escaping @Sendable (URLSessionConfiguration) -> Void, onServerTrust answer: @escaping TrustAnswer) {
        onServerTrust = answer
        configuration = {
            let configuration = URLSessionConfiguration.ephemeral
            configure(configuration)
            configuration.httpAdditionalHeaders = nil
            // Ours, from the request's: URLSession's is a large finite number of whole seconds, the only kind that works everywhere.
            configuration.timeoutIntervalForRequest = Self.never
            configuration.timeoutIntervalForResource = Self.never
            configuration.urlCache = nil
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            configuration.urlCredentialStorage = nil
            configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
            // The limit is the pipeline's: what waited here would have its timers running.
            configuration.httpMaximumConnectionsPerHost = 1_000
            return configuration
        }
        _ = sessions.begin()
        shared = ExchangeSession(configuration(), answer, onEnd: sessions.end)
    }

    deinit { shared.finish() }

    /// Takes no more requests, and ends every connection. Returns when URLSession says that its sessions have ended, or after five seconds:
    /// it does not say so of a task that it has lost.
    public func shutdown() async {
        sessions.close()
        // Behind those that are about to start.
        Self.startQueue.async { [shared] in shared.finish() }
        await sessions.waitUntilNone(atMost: .seconds(5))
    }

    /// Sends a request and reports what comes back. The events come on a serial queue.
    /// - Parameters:
    ///   - request: What to send.
    ///   - receive: Takes what happens, in order.
    /// - Throws: `TransportError`, what `receive` threw, or `CancellationError`.
    public func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) throws -> Void) async throws {
        let isOwn = needsOwnConnection(request)
        var made = try Self.makeURLRequest(request)
        // Closed by both sides before the exchange ends, not whenever the session is taken down: its place with the host is free by then.
        if isOwn { made.setValue("close", forHTTPHeaderField: HeaderName.connection) }
        let streamed = try Self.place(request.body, in: &made)
        let urlRequest = made
        try Task.checkCancellation()
        let session = try session(isOwn: isOwn)
        let exchange = URLSessionExchange(request, streaming: streamed, on: session.queue, receive: receive)
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
                guard exchange.begin(continuation) else {
                    if isOwn { session.finish() }
                    return
                }
                Self.startQueue.async { session.start(exchange, urlRequest, isLast: isOwn) }
            }
        } onCancel: {
            exchange.end(.failure(CancellationError()))
        }
    }

    private func session(isOwn: Bool) throws -> ExchangeSession {
        guard isOwn else { return shared }
        guard sessions.begin() else { throw ExchangeSession.isShutDown }
        return ExchangeSession(configuration(), onServerTrust, onEnd: sessions.end)
    }

    /// Whether libcurl must find no connection that it could believe to be alive.
    private func needsOwnConnection(_ request: HTTPRequest) -> Bool {
        #if canImport(FoundationNetworking)
        // One that writes to a disk must not keep the callbacks of others waiting, either.
        request.body != nil || !request.isIdempotent || request[BodyDelivery.self] != nil
        #else
        false
        #endif
    }

    package static func makeURLRequest(_ request: HTTPRequest) throws -> URLRequest {
        #if canImport(FoundationNetworking)
        if request.url.host?.contains(":") == true || request.url.absoluteString.contains("://[") {
            throw TransportError(.invalidRequest, "URLSession on Linux can't connect to an IPv6 literal; use a host name")
        }
        #endif
        var urlRequest = URLRequest(url: request.url)
        urlRequest.httpMethod = request.method.rawValue
        guard urlRequest.httpMethod == request.method.rawValue else {
            throw TransportError(.invalidRequest, "URLSession would write the method \(request.method) in capitals")
        }
        urlRequest.timeoutInterval = never
        urlRequest.httpShouldHandleCookies = false
        urlRequest.allowsCellularAccess = request[AllowsCellularAccess.self]
        for field in request.headers {
            // Spaces around a value mean nothing, except to libcurl, which leaves out a field that has nothing else.
            urlRequest.addValue(HeaderFieldValue.trimmed(field.value), forHTTPHeaderField: field.name)
        }
        #if canImport(FoundationNetworking)
        if !request.headers.contains(HeaderName.acceptLanguage) {
            urlRequest.setValue(leftOut, forHTTPHeaderField: HeaderName.acceptLanguage)
        }
        if !request.headers.contains(HeaderName.acceptEncoding) {
            urlRequest.setValue("identity", forHTTPHeaderField: HeaderName.acceptEncoding)
        }
        #endif
        if let body = request.body {
            for field in body.headers where !request.headers.contains(field.name) {
                urlRequest.addValue(field.value, forHTTPHeaderField: field.name)
            }
            // Without one, URLSession on Linux claims that the body is a form.
            if urlRequest.value(forHTTPHeaderField: HeaderName.contentType) == nil {
                urlRequest.setValue("application/octet-stream", forHTTPHeaderField: HeaderName.contentType)
            }
        }
        return urlRequest
    }

    #if canImport(FoundationNetworking)
    /// The value of a field that must not be sent. Without one, URLSession and libcurl would add their own; an empty value would be sent as an
    /// empty field, which some servers answer with 417 where it is `Expect`.
    private static let leftOut = " "
    #endif

    /// Gives a request its body, if that is to be in memory. Returns the body if it is to be streamed.
    private static func place(_ body: HTTPBody?, in urlRequest: inout URLRequest) throws -> HTTPBody? {
        guard let body else { return nil }
        if let data = body.data {
            urlRequest.httpBody = data
            return nil
        }
        guard let length = body.length else { throw TransportError(.invalidRequest, "the body was not resolved before it was sent") }
        if length <= 1 << 20 {
            let reader = body.makeReader()
            var whole = Data()
            while case let piece = try reader.read(upTo: 1 << 20), !piece.isEmpty { whole += piece }
            urlRequest.httpBody = whole
            return nil
        }
        #if canImport(FoundationNetworking)
        // libcurl would wait a second for the server's leave.
        urlRequest.setValue(leftOut, forHTTPHeaderField: HeaderName.expect)
        #else
        urlRequest.setValue("\(length)", forHTTPHeaderField: HeaderName.contentLength)
        #endif
        return body
    }
}

/// Answers a challenge about a server's certificate. On Linux there are none.
typealias TrustAnswer = @Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?)

/// A URLSession with the delegate that knows its exchanges.
final class ExchangeSession: NSObject, Sendable {
    private let session: Lock<URLSession?>
    private let router: Router
    /// Where the callbacks run.
    let queue = DispatchQueue(label: "ness.urlsession.callbacks")

    /// The error of a request that comes after the shutdown.
    static var isShutDown: TransportError { TransportError(.invalidRequest, "the transport has been shut down") }

    /// Makes a session.
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - onServerTrust: Answers challenges about certificates.
    ///   - onEnd: Runs once when the session has ended, after `finish()`.
    init(
        _ configuration: URLSessionConfiguration, _ onServerTrust: @escaping TrustAnswer, onEnd: @escaping @Sendable () -> Void
    ) {
        router = Router(onServerTrust, onEnd: onEnd)
        #if canImport(FoundationNetworking)
        let delegateQueue = DelegateQueue()
        #else
        let delegateQueue = OperationQueue()
        delegateQueue.underlyingQueue = queue
        delegateQueue.maxConcurrentOperationCount = 1
        #endif
        session = Lock(URLSession(configuration: configuration, delegate: router, delegateQueue: delegateQueue))
    }

    /// Starts an exchange. Runs on the start queue.
    /// - Parameter isLast: Whether the session ends with it.
    func start(_ exchange: URLSessionExchange, _ request: URLRequest, isLast: Bool) {
        guard let session = session.withLock({ $0 }) else {
            return exchange.end(.failure(Self.isShutDown))
        }
        // A task that is never resumed leaks its session, so this comes before the task is made.
        guard !exchange.hasEnded else {
            if isLast { finish() }
            return
        }
        guard exchange.takePlace() else {
            if isLast { finish() }
            return exchange.end(.failure(CancellationError()))
        }
        let task = exchange.isStreamed ? session.uploadTask(withStreamedRequest: request) : session.dataTask(with: request)
        router.add(exchange, for: task)
        exchange.started(task)
        task.resume()
        if isLast { finish() }
    }

    /// Lets what runs end, and takes nothing more.
    func finish() {
        let last = session.withLock { session in
            let last = session
            session = nil
            return last
        }
        last?.finishTasksAndInvalidate()
    }
}

/// Hands URLSession's callbacks to the exchange they belong to.
private final class Router: NSObject, URLSessionDataDelegate {
    private let exchanges = Lock<[Int: URLSessionExchange]>([:])
    private let onServerTrust: TrustAnswer
    private let onEnd: @Sendable () -> Void

    init(_ onServerTrust: @escaping TrustAnswer, onEnd: @escaping @Sendable () -> Void) {
        self.onServerTrust = onServerTrust
        self.onEnd = onEnd
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { onEnd() }

    func add(_ exchange: URLSessionExchange, for task: URLSessionTask) {
        exchanges.withLock { $0[task.taskIdentifier] = exchange }
    }

    private func exchange(for task: URLSessionTask) -> URLSessionExchange? {
        exchanges.withLock { $0[task.taskIdentifier] }
    }

    /// Tells an exchange something, in its order.
    private func tell(_ exchange: URLSessionExchange?, _ body: @escaping @Sendable (URLSessionExchange) -> Void) {
        guard let exchange else { return }
        #if canImport(FoundationNetworking)
        exchange.callbacks.add { body(exchange) }
        #else
        // Already on the delegate queue, which is serial.
        body(exchange)
        #endif
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        tell(exchange(for: dataTask)) { $0.received(response) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        tell(exchange(for: dataTask)) { $0.received(data) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        tell(exchange(for: task)) { $0.sent(totalBytesSent) }
    }

    /// Answers at once: where URLSession on Linux wants to read a body again, it keeps its thread until it has the stream.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, needNewBodyStream completionHandler: @escaping (InputStream?) -> Void
    ) {
        completionHandler(exchange(for: task)?.makeBodyStream())
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        tell(exchange(for: task)) { exchange in
            exchange.redirected(response)
            exchange.answerRedirect(completionHandler)
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(FoundationNetworking)
        // There a Basic challenge comes only when the whole response is in, and no answer but a credential ends the task.
        let response = challenge.failureResponse
        tell(exchange(for: task)) { exchange in
            exchange.challenged(response)
            URLSessionExchange.cancelQueue.async { completionHandler(.cancelAuthenticationChallenge, nil) }
        }
        #else
        let isTrust = challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust
        let (disposition, credential) = isTrust ? onServerTrust(challenge) : (.rejectProtectionSpace, nil)
        completionHandler(disposition, credential)
        #endif
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let response = task.response
        let exchange = exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        // Not in the exchange's order: one that has ended hears nothing more.
        exchange?.leavePlace()
        tell(exchange) { $0.completed(error, response) }
    }
}
