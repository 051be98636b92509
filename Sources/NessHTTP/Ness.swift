import Foundation

/// The manager: knows what a group of requests has in common, builds requests and sends them.
///
/// ```swift
/// let ness = Ness {
///     $0.baseURL = URL(string: "https://api.example.com/v1/")
///     $0.defaultHeaders = ["Accept-Language": "en"]
/// }
/// ness.httpRequest(.get, withUrl: "users/1")
///     .validate(statusCodes: 200..<300)
///     .dataRequest()
///     .then { result -> User in try result.message.parseJSONBody() }
///     .then(on: .main) { user in show(user) }
///     .handle { error in print(error) }
/// ```
///
/// A request that was started ends also when its manager is released.
public final class Ness: Sendable {
    /// The delegate, and whose it is. The pipeline knows both by this, and keeps neither.
    private struct Delegation: Sendable {
        weak var manager: Ness?
        weak var delegate: (any NetworkSessionManagerDelegate)?
        var duplicatedHandler: (any DuplicatedHandler)?
        var observers: [any RequestObserver] = []
    }

    private let delegation = Lock(Delegation())
    private let pipeline: Pipeline
    private let hostQueue: HostQueue
    let running = RunningRequests()
    let timekeeper: Timekeeper
    let defaults: RequestDefaults
    private let currentEnvironment: Lock<ServerEnvironment>
    private static let sharedDefault = Lock(Ness())
    /// What the manager was given. Base URL, default headers and authentication are what it began with: see `environment`.
    public let configuration: Configuration

    /// The manager for code that needs no other. It may be replaced.
    public static var `default`: Ness {
        get { sharedDefault.withLock { $0 } }
        set { sharedDefault.withLock { $0 = newValue } }
    }

    /// Makes a manager with a `URLSessionTransport` of its own, or on Linux with the transport that the environment variable `NESS_TRANSPORT`
    /// names: `curl` for `CurlTransport`.
    /// - Parameter configure: Changes the configuration; runs in this call.
    public init(_ configure: (inout Configuration) -> Void = { _ in }) {
        var configuration = Configuration(transport: DefaultTransport.make())
        configure(&configuration)
        self.configuration = configuration
        defaults = RequestDefaults(configuration)
        timekeeper = Timekeeper(configuration.clock)
        currentEnvironment = Lock(configuration.environment)
        let delegation = delegation
        let environment = Environment(
            hooks: {
                let (manager, delegate) = delegation.withLock { ($0.manager, $0.delegate) }
                guard let manager, let delegate else { return nil }
                return delegate.hooks(for: manager)
            })
        hostQueue = HostQueue(limit: configuration.maximumConnectionsPerHost)
        pipeline = Pipeline(
            configuration, clock: timekeeper, environment: environment, hostQueue: hostQueue, running: running,
            observers: { delegation.withLock { $0.observers } },
            duplicatedHandler: { delegation.withLock { $0.duplicatedHandler } })
        delegation.withLock { delegation in
            delegation.manager = self
            delegation.duplicatedHandler = configuration.duplicatedHandler
            delegation.observers = configuration.observers
        }
    }

    /// Makes a manager that decides on equal requests in one of the usual ways.
    /// - Parameter onDuplicated: The way.
    public convenience init(onDuplicated: DefaultDuplicatedHandler) { self.init { $0.duplicatedHandler = onDuplicated } }

    /// Decides on equal requests; nil merges GET, HEAD and OPTIONS.
    public var duplicatedHandler: (any DuplicatedHandler)? {
        get { delegation.withLock { $0.duplicatedHandler } }
        set { delegation.withLock { $0.duplicatedHandler = newValue } }
    }

    /// Watch the requests that are started from now on; those that run keep theirs.
    public var observers: [any RequestObserver] {
        get { delegation.withLock { $0.observers } }
        set {
            // The old ones are released outside the lock.
            _ = delegation.withLock { delegation in
                defer { delegation.observers = newValue }
                return delegation.observers
            }
        }
    }

    /// How many exchanges run at once with each origin; the others wait. Raising it has some of them begin; what runs goes on when it is
    /// lowered. At 0 none begins: a pause, which timeouts do not count and deadlines do.
    public var maximumConnectionsPerHost: Int {
        get { hostQueue.limit }
        set { hostQueue.limit = newValue }
    }

    /// Sees every attempt before it is sent. Held weakly.
    public var delegate: (any NetworkSessionManagerDelegate)? {
        get { delegation.withLock { $0.delegate } }
        set { delegation.withLock { $0.delegate = newValue } }
    }

    /// Where requests go and what they bring, at the moment: base URL, default headers and credentials. Setting it replaces all three at
    /// once, for requests that are started afterwards, whenever they were built; those that run keep what they began with.
    public var environment: ServerEnvironment {
        get { currentEnvironment.withLock { $0 } }
        set {
            var newValue = newValue
            newValue.defaultHeaders.secrets = defaults.secrets
            // The old one is released outside the lock.
            _ = currentEnvironment.withLock { current in
                defer { current = newValue }
                return current
            }
        }
    }

    /// Begins a request.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: A `String` or a `URL`, absolute or relative to the base URL. A string that is no URL makes the request fail with
    ///     `NessError.invalidRequest` when it is started.
    /// - Returns: A builder, which is a value: it can be kept, changed and sent any number of times.
    public func httpRequest(_ method: HTTPMethod = .get, withUrl url: some URLConvertible) -> RequestBuilder {
        RequestBuilder(sender: self, method: method, url: url)
    }

    // MARK: dropping

    /// Drops every request that is in flight. The manager goes on working.
    public func dropAllRequests() { running.dropAll(in: nil) }

    /// Drops every request of a group that is in flight.
    /// - Parameter group: The group's name: see `RequestBuilder.group(_:)`.
    public func dropAllRequests(in group: String) { running.dropAll(in: group) }

    /// Drops every request that is in flight, waits until no request is being exchanged, and has every stage forget what it keeps.
    ///
    /// Once it returns, no request from before can deliver or send. Requests that are made meanwhile fail with `NessError.dropped`. A
    /// second reset that begins while one runs ends with it.
    ///
    /// The reset may be awaited anywhere, also inside a stage, a transport or a mock's handler. Inside an exchange or a download of this
    /// manager it returns as soon as the requests are dropped: the reset waits for that exchange, which waits for its caller. It completes
    /// once the exchange has ended. The manager recognizes such a caller by the task, by tasks made with `Task { }` in it, and by handlers that
    /// were added to a promise in it. A detached task is not recognized; do not wait for one that resets the manager inside a transport.
    public func reset() async { await running.reset { [pipeline] in await pipeline.reset() } }

    /// Ends the manager for good.
    ///
    /// From now on requests fail with `NessError.dropped`, except those that a refresh makes for a request that runs. What runs may end within
    /// the time given; then the rest is dropped. The method returns when every exchange and download has ended, the files are closed, and
    /// the transport has shut down: its sockets, threads and timers are gone. A transport that several managers share ends for all of them.
    ///
    /// A paused download counts as running, and keeps what has come when it is dropped. Stages forget nothing: cache and cookies stay as they
    /// are. Cancelling the task that waits drops what runs at once. A second shutdown, and a reset afterwards, are harmless.
    ///
    /// Like `reset()` it may be awaited anywhere. Inside an exchange or a download of this manager it returns at once, and goes on by itself.
    /// - Parameter limit: The longest time that requests may still run, on the manager's clock.
    public func shutdown(within limit: Duration) async {
        await running.shutDown(within: limit, timekeeper) { [configuration, timekeeper] in
            await configuration.transport.shutdown()
            timekeeper.rest()
        }
    }

    // MARK: sending

    /// Sends a call's request through the pipeline.
    func perform(_ call: Call) async throws -> HTTPResponse {
        do {
            try admit(call)
            return try await pipeline.load(call)
        } catch {
            throw call.explainFinally(error)
        }
    }

    /// Throws if a call must not begin.
    @inline(never)
    private func admit(_ call: Call) throws {
        try Task.checkCancellation()
        if let reason = running.refusal(of: call.choices.epoch) { throw call.error(.dropped, reason) }
    }
}

extension Ness: RequestSender {}

/// The name that users of iONess know the manager by.
public typealias NetworkSessionManager = Ness
