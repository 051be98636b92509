import Foundation
import NessHTTP

/// A transport without a network: routes that a test registers answer the requests.
///
/// ```swift
/// let mock = MockTransport()
/// mock.on(.get, "/users/:id") { request in .json(User(id: request.pathParameters["id"])) }
/// mock.on(.post, "/flaky", replies: [.failure(.timedOut), .status(503), .status(201)])
/// let ness = Ness { $0.transport = mock }
/// ```
///
/// A request that no route matches fails with `UnmatchedRequest`, unless the mock was told otherwise. Everything above the transport works
/// as it does with a server: redirects, timeouts, limits, and the check that a body is as long as its header says.
///
/// A mock may be used from any number of threads, also while requests run.
public final class MockTransport: Transport {
    /// Makes the reply to a request. What it throws ends the exchange; a `TransportError` becomes the `NessError` that it stands for.
    public typealias Handler = @Sendable (ReceivedRequest) async throws -> Reply

    /// What becomes of a request that no route matches.
    public enum UnmatchedPolicy: Sendable {
        /// It fails with `UnmatchedRequest`.
        case fail
        /// It gets this reply.
        case reply(Reply)
        /// Another transport takes it.
        case forward(to: any Transport)
    }

    /// True, because replies are handed on as they are; where other requests are forwarded, that of the transport that takes them.
    public var keepsContentCoding: Bool {
        if case .forward(let transport) = policy { return transport.keepsContentCoding }
        return true
    }

    /// What a handler's registration gives: takes the route away again.
    public struct Route: Sendable {
        fileprivate let id: Int
        fileprivate weak var mock: MockTransport?

        /// Removes the route. A request that it is answering goes on.
        public func remove() { mock?.remove(id) }
    }

    private struct State: Sendable {
        var routes = RouteTable()
        /// How many requests have come, also those forgotten.
        var count = 0
        var requests: [HTTPRequest] = []
        var received: [ReceivedRequest] = []
        var unmatched: [UnmatchedRequest] = []
    }

    private let policy: UnmatchedPolicy
    private let clock: Timekeeper
    private let state = Lock(State())
    private let changed = ChangeSignal()

    /// Makes a mock without routes.
    /// - Parameters:
    ///   - onUnmatched: What becomes of a request that no route matches.
    ///   - clock: What delayed replies wait on.
    public init(onUnmatched: UnmatchedPolicy = .fail, clock: any Clock<Duration> = ContinuousClock()) {
        policy = onUnmatched
        self.clock = Timekeeper(clock)
    }

    // MARK: routes

    /// Has a closure answer the requests that match. A route that is added later is asked earlier.
    ///
    /// A pattern is a path such as `/users/:id/files/*path`, on any host. `:name` matches one segment, `*name` all that are left, also none;
    /// the handler finds what they matched in `pathParameters`, percent-decoded. A slash that is encoded in the URL separates nothing, and
    /// stays `%2F` in the value. A segment that begins with `:` or `*` itself is written with `%3A` or `%2A`; a lone `:` is literal.
    ///
    /// With a host in front, as in `https://other.test/x`, or `//other.test/x` for either scheme, only requests to that origin match. With
    /// a query behind, as in `/search?q=1`, only those that have these pairs among theirs, in any order. Segments and pairs are
    /// compared percent-decoded, scheme and host without regard to case, ports with their defaults; doubled slashes and those at the
    /// ends do not count.
    ///
    /// A pattern that is not valid makes every request fail with `MockTransportError.invalidRoute`.
    /// - Parameters:
    ///   - method: The method; nil for any.
    ///   - pattern: Which URLs.
    ///   - reply: Makes the reply, in a task of its own, which is cancelled with the request.
    /// - Returns: What removes the route; it stays whether or not this is kept.
    @discardableResult
    public func on(_ method: HTTPMethod?, _ pattern: String, _ reply: @escaping Handler) -> Route {
        add(method, pattern, .handler(reply))
    }

    /// Has the requests that match answered by one reply after another, in the order in which they come.
    /// - Parameters:
    ///   - method: The method; nil for any.
    ///   - pattern: Which URLs; see `on(_:_:_:)`.
    ///   - replies: The replies. Without any, every request fails with `MockTransportError.invalidRoute`.
    ///   - repeatsLast: Whether the last one repeats; if not, the route matches nothing once all have been given.
    /// - Returns: What removes the route; it stays whether or not this is kept.
    @discardableResult
    public func on(_ method: HTTPMethod?, _ pattern: String, replies: [Reply], repeatsLast: Bool = true) -> Route {
        add(method, pattern, .replies(replies, next: 0, repeatsLast: repeatsLast))
    }

    /// Removes every route. What has come stays recorded.
    public func removeAll() {
        // Whatever handlers own is released outside the lock.
        _ = state.withLock { $0.routes.removeAll() }
    }

    private func add(_ method: HTTPMethod?, _ pattern: String, _ answer: RouteTable.Answer) -> Route {
        let id = state.withLock { $0.routes.add(method, pattern, answer) }
        return Route(id: id, mock: self)
    }

    private func remove(_ id: Int) {
        _ = state.withLock { $0.routes.remove(id) }
    }

    // MARK: what has come

    /// Every request that came, in order, as the pipeline had made it. All are kept, with their bodies, until `forgetRequests()`.
    public var requests: [HTTPRequest] { state.withLock { $0.requests } }

    /// Every request that came, in order, as a handler sees it.
    public var received: [ReceivedRequest] { state.withLock { $0.received } }

    /// Every request that no route matched, in order, whatever became of it.
    public var unmatchedRequests: [UnmatchedRequest] { state.withLock { $0.unmatched } }

    /// Forgets every request that came, for tests that send very many. Routes stay, and go on where they are.
    public func forgetRequests() {
        // Whatever the requests hold is released outside the lock.
        _ = state.withLock { state in
            defer { (state.requests, state.received, state.unmatched) = ([], [], []) }
            return (state.requests, state.received, state.unmatched)
        }
    }

    /// Suspends until what has come meets a condition, such as `{ $0.requests.count == 2 }`. Looks again at each request.
    /// - Parameter predicate: The condition. Runs in the calling task.
    /// - Returns: Whether the condition was met; false when the task was cancelled before.
    @discardableResult
    public func waitUntil(_ predicate: @Sendable (MockTransport) -> Bool) async -> Bool { await changed.wait { predicate(self) } }

    // MARK: sending

    /// Answers a request.
    ///
    /// The events come one after another while this runs: what the body's bytes were, the head, the body. A request that was cancelled
    /// before does not come at all.
    /// - Parameters:
    ///   - request: What to answer.
    ///   - receive: Takes what happens, in order.
    /// - Throws: The reply's `TransportError`, `UnmatchedRequest`, `MockTransportError`, what the handler or `receive` threw, or
    ///   `CancellationError`.
    public func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) throws -> Void) async throws {
        try Task.checkCancellation()
        let exchange = MockExchange(request, clock: clock, receive: receive)
        let taken = Result { try take(request) }
        changed.notify()
        switch try taken.get() {
        case .found(let received, .handler(let handler)): try await exchange.run { try await handler(received) }
        case .found(_, .reply(let reply)): try await exchange.run { reply }
        case .unmatched(let error):
            switch policy {
            case .fail: throw error
            case .reply(let reply): try await exchange.run { reply }
            case .forward(let transport): try await transport.send(request, receive: receive)
            }
        }
    }

    private enum Taken: Sendable {
        case found(ReceivedRequest, RouteTable.Chosen)
        case unmatched(UnmatchedRequest)
    }

    /// Records a request and finds its route, in one step: replies are given in the order of `requests`.
    private func take(_ request: HTTPRequest) throws -> Taken {
        return try state.withLock { state in
            state.count += 1
            var received = ReceivedRequest(mocked: request, number: state.count)
            defer {
                state.requests.append(request)
                state.received.append(received)
            }
            if let (chosen, parameters) = try state.routes.choose(request.method, request.url) {
                received.pathParameters = parameters
                return .found(received, chosen)
            }
            let error = UnmatchedRequest(request: request, routes: state.routes.names.map { request.secrets.redacted(urlText: $0) })
            state.unmatched.append(error)
            return .unmatched(error)
        }
    }
}
