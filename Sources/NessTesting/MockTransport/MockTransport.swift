import Foundation
import NessHTTP
import NessLock

/// A transport without a network. Routes that a test registers serve the requests.
///
/// ```swift
/// let mock = MockTransport()
/// mock.on(.get, "/users/:id") { request in
///     .json(["id": request.pathParameters["id"]])
/// }
/// mock.on(
///     .post, "/flaky", replies: [.failure(.timedOut), .status(503), .status(201)])
/// let ness = Ness { $0.transport = mock }
/// ```
///
/// A pattern without a leading slash is relative to the manager's base URL, like the URL of a request:
///
/// ```swift
/// let mock = MockTransport()
/// mock.on(.get, "users/1", returning: User(id: 1, name: "Tabby"))
/// let ness = Ness {
///     $0.transport = mock
///     $0.baseURL = URL(string: "https://api.example.com/v1/")
/// }
/// let user = try await ness.get("users/1").decoded(as: User.self)
/// ```
///
/// A request that no route matches fails with `UnmatchedRequest`, unless `onUnmatched` changes that. Its description names the nearest
/// routes, and why they do not match. Everything above the transport works as with a server: redirects, timeouts, limits, and the check of
/// a body's length against its header.
///
/// A mock may be used from any thread, even while requests run.
public final class MockTransport: ControlledTransport {
    /// Makes the reply to a request. An error that it throws ends the exchange. A `TransportError` becomes the corresponding `NessError`.
    public typealias Handler = @Sendable (ReceivedRequest) async throws -> Reply

    /// The treatment of a request that no route matches.
    public enum UnmatchedPolicy: Sendable {
        /// The request fails with `UnmatchedRequest`.
        case fail
        /// The request receives this reply.
        case reply(Reply)
        /// Another transport sends the request.
        case forward(to: any Transport)
    }

    /// True, because replies are reported unchanged. If unmatched requests are forwarded, the value of the transport that sends them.
    public var keepsContentCoding: Bool {
        if case .forward(let transport) = policy { return transport.keepsContentCoding }
        return true
    }

    /// False, because a reply has no interim responses. If unmatched requests are forwarded, the value of the transport that sends them.
    public var reportsInterimResponses: Bool {
        if case .forward(let transport) = policy { transport.reportsInterimResponses } else { false }
    }

    /// All, because no server is involved. If unmatched requests are forwarded, the value of the transport that sends them.
    public var tlsCapabilities: TLSCapabilities {
        if case .forward(let transport) = policy { return transport.tlsCapabilities }
        return .all
    }

    /// A registered route, which can be removed.
    public struct Route: Sendable {
        fileprivate let id: Int
        fileprivate weak var mock: MockTransport?

        /// Removes the route. A request that the route currently serves continues.
        public func remove() { mock?.remove(id) }
    }

    private struct State: Sendable {
        var routes = RouteTable()
        /// The number of requests so far, including those that `forgetRequests()` removed.
        var count = 0
        var requests: [HTTPRequest] = []
        var received: [ReceivedRequest] = []
        var unmatched: [UnmatchedRequest] = []
    }

    private let policy: UnmatchedPolicy
    private let clock: PipelineClock
    private let state = Lock(State())
    private let changed = ChangeSignal()

    /// Makes a mock without routes.
    /// - Parameters:
    ///   - onUnmatched: The treatment of a request that no route matches.
    ///   - clock: The clock for delayed replies.
    public init(onUnmatched: UnmatchedPolicy = .fail, clock: any Clock<Duration> = ContinuousClock()) {
        policy = onUnmatched
        self.clock = PipelineClock(clock)
    }

    // MARK: routes

    /// Adds a route whose replies a closure makes. If several routes match a request, the newest one is used.
    ///
    /// **Path.** A pattern is a path such as `users/:id/files/*path`. `:name` matches one segment. `*name` matches any number of remaining
    /// segments, even zero. The handler finds the matched strings in `pathParameters`, percent-decoded. An encoded slash (`%2F`) in the URL
    /// separates no segments. To match a segment that begins with `:` or `*` literally, write `%3A` or `%2A`. A lone `:` is literal.
    ///
    /// **Base URL.** A pattern without a leading slash, such as `users/1`, is relative to the base URL of the manager that sends the
    /// request. It matches the request of `ness.get("users/1")`, and an equal absolute URL. It matches neither another origin nor a path
    /// outside the base URL. The base URL is that of the request's environment when it was started, even for its redirects. If the manager
    /// has no base URL, or a request has no manager, the pattern starts at the root of any host.
    ///
    /// A pattern with a leading slash, such as `/v1/users/1`, starts at the root of any host.
    ///
    /// **Host.** A pattern that begins with a host, such as `https://other.test/x`, matches only requests to that origin. `//other.test/x`
    /// matches both schemes.
    ///
    /// **Query.** A pattern with a query, such as `/search?q=1`, matches only requests whose query contains these pairs, in any order.
    ///
    /// Segments and pairs are compared percent-decoded. Scheme and host are compared without regard to case, and ports with their defaults.
    /// Doubled slashes, and slashes at the end, do not count.
    ///
    /// An invalid pattern makes every request fail with `MockTransportError.invalidRoute`.
    /// - Parameters:
    ///   - method: The method; `nil` for any.
    ///   - pattern: The URLs that the route matches.
    ///   - reply: Makes the reply. Runs in a separate task, which is canceled with the request.
    /// - Returns: The route. It stays registered whether or not the caller keeps this value.
    @discardableResult
    public func on(_ method: HTTPMethod?, _ pattern: String, _ reply: @escaping Handler) -> Route {
        add(method, pattern, .success(.handler(reply)))
    }

    /// Adds a route with a list of replies. Each matching request receives the next reply.
    /// - Parameters:
    ///   - method: The method; `nil` for any.
    ///   - pattern: The URLs that the route matches: see `on(_:_:_:)`.
    ///   - replies: The replies. An empty list makes every request fail with `MockTransportError.invalidRoute`.
    ///   - repeatsLast: `true` if the last reply repeats; `false` if the route matches no request once all replies were given.
    /// - Returns: The route. It stays registered whether or not the caller keeps this value.
    @discardableResult
    public func on(_ method: HTTPMethod?, _ pattern: String, replies: [Reply], repeatsLast: Bool = true) -> Route {
        add(method, pattern, .success(.replies(replies, next: 0, repeatsLast: repeatsLast)))
    }

    /// Removes every route. The recorded requests stay.
    public func removeAll() {
        // The handlers, and all that they hold, are released outside the lock.
        _ = state.withLock { $0.routes.removeAll() }
    }

    /// Adds a route. If it has no reply, every request fails with the error.
    func add(_ method: HTTPMethod?, _ pattern: String, _ answer: Result<RouteTable.Answer, any Error>) -> Route {
        let id = state.withLock { $0.routes.add(method, pattern, answer) }
        return Route(id: id, mock: self)
    }

    private func remove(_ id: Int) {
        _ = state.withLock { $0.routes.remove(id) }
    }

    // MARK: the recorded requests

    /// Every request in the order of arrival, as the pipeline sent it. The mock keeps all requests, with their bodies, until
    /// `forgetRequests()`.
    public var requests: [HTTPRequest] { state.withLock { $0.requests } }

    /// Every request in the order of arrival, as a handler sees it.
    public var received: [ReceivedRequest] { state.withLock { $0.received } }

    /// Every request that no route matched, in the order of arrival, even if it received a reply.
    public var unmatchedRequests: [UnmatchedRequest] { state.withLock { $0.unmatched } }

    /// Removes the recorded requests, for tests that send very many. Routes stay, and continue with their next reply.
    public func forgetRequests() {
        // The requests, and all that they hold, are released outside the lock.
        _ = state.withLock { state in
            defer { (state.requests, state.received, state.unmatched) = ([], [], []) }
            return (state.requests, state.received, state.unmatched)
        }
    }

    /// Suspends until the mock meets a condition, such as `{ $0.requests.count == 2 }`. The condition is checked at each request.
    /// - Parameter predicate: The condition. Runs in the calling task.
    /// - Returns: `true` if the condition was met; `false` if the task was canceled before.
    @discardableResult
    public func waitUntil(_ predicate: @Sendable (MockTransport) -> Bool) async -> Bool { await changed.wait { predicate(self) } }

    // MARK: sending

    /// Serves a request.
    ///
    /// The mock reports the events one after another: the bytes sent, the head, the body. A request that was canceled before the call is
    /// not recorded, nor is one whose body can't be read to its end. A body from a sequence is recorded as bytes.
    /// - Parameters:
    ///   - request: The request.
    ///   - receive: Takes the events, in order.
    /// - Throws: The reply's `TransportError` or that of the request's body, `UnmatchedRequest`, `MockTransportError`, the error of the
    ///   handler or of `receive`, or `CancellationError`.
    public func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try await send(request, under: nil, receive: receive)
    }

    /// False: handlers may ignore a cancellation.
    package var isStoppable: Bool { false }

    package func send(
        _ request: HTTPRequest, under control: (any ExchangeControl)?, receive: @escaping @Sendable (TransportEvent) async throws -> Void
    ) async throws {
        try Task.checkCancellation()
        let (request, body) = try await Self.collected(request)
        let exchange = MockExchange(request: request, clock: clock, receive: receive)
        let taken = Result { try take(request, body, below: control?.baseURL) }
        changed.notify()
        switch try taken.get() {
        case (let received, .handler(let handler)): try await exchange.run { try await handler(received) }
        case (_, .transport(let transport)): try await transport.controlled.send(request, under: control, receive: receive)
        }
    }

    /// Stops the servers of routes with misbehaviors, and shuts down the transport to which unmatched requests are forwarded.
    public func shutdown() async {
        for transport in state.withLock({ $0.routes.transports }) { await transport.shutdown() }
        if case .forward(let transport) = policy { await transport.shutdown() }
    }

    /// Reads the body of a request, as a server would. The returned request has these bytes in the place of a sequence, which may not be
    /// readable a second time.
    /// - Throws: The error of a transport that can't send the body, such as a file that became shorter.
    static func collected(_ request: HTTPRequest) async throws -> (request: HTTPRequest, body: Data) {
        guard let body = request.body else { return (request, Data()) }
        if let bytes = body.data { return (request, bytes) }
        let reader = body.makeReader()
        var bytes = Data()
        while case let piece = try await reader.next(upTo: 1 << 16), !piece.isEmpty { bytes += piece }
        var collected = request
        if body.isStreamed { collected.body = HTTPBody(bytes, headers: body.headers) }
        return (collected, bytes)
    }

    /// Records a request and finds its route. Both happen under one lock, so replies are given in the order of `requests`.
    private func take(_ request: HTTPRequest, _ body: Data, below baseURL: URL?) throws -> (ReceivedRequest, RouteTable.Chosen) {
        let target = RouteTarget(request, below: baseURL)
        return try state.withLock { state in
            state.count += 1
            var received = ReceivedRequest(mocked: request, body: body, number: state.count)
            defer {
                state.requests.append(request)
                state.received.append(received)
            }
            if let (chosen, parameters) = try state.routes.choose(target) {
                received.pathParameters = parameters
                return (received, chosen)
            }
            let error = state.routes.unmatched(request, target)
            state.unmatched.append(error)
            switch policy {
            case .fail: throw error
            case .reply(let reply): return (received, .handler { _ in reply })
            case .forward(let transport): return (received, .transport(transport))
            }
        }
    }
}

/// An error in the use of a `MockTransport` or a `ReplayTransport`. Like `UnmatchedRequest`, it reaches the caller unchanged, and Ness
/// never retries after it.
public enum MockTransportError: Error, RepetitionSource, Hashable, Sendable, CustomStringConvertible, LocalizedError {
    /// A route is invalid, for the given reason. Every request fails with this error until the route is removed.
    case invalidRoute(String)
    /// A mock cannot reply, for the given reason.
    case invalidReply(String)

    package var repetition: Repetition { .never("the mock is used wrongly") }

    /// The reason.
    public var description: String {
        switch self {
        case .invalidRoute(let reason): "the mock has an invalid route: \(reason)"
        case .invalidReply(let reason): "the mock has an invalid reply: \(reason)"
        }
    }
    /// The description.
    public var errorDescription: String? { description }
}
