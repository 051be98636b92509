import Foundation
import NessLock

/// An HTTP client, called a manager: it makes requests with shared settings and sends them.
///
/// ```swift
/// let ness = Ness {
///     $0.baseURL = URL(string: "https://api.example.com/v1/")
///     $0.defaultHeaders = ["Accept-Language": "en"]
/// }
/// // With async:
/// let user = try await ness.get("users", id).decoded(as: User.self)
///
/// // With a promise:
/// ness.get("users", id).dataRequest(decoding: User.self)
///     .then(onMain: { user in show(user) })
///     .handle { error in print(error) }
/// ```
///
/// **Requests.** `get(_:)`, `post(_:)` and `httpRequest(_:withUrl:_:)` make a `RequestBuilder`, which is a value. `decoded(as:)` and
/// `response()` send it and wait. `dataRequest()`, `downloadRequest(forSavedLocation:)` and `streamRequest()` send it and return a promise.
/// `request(_:)` sends a `ConnectionSpec` and returns a promise of its model.
///
/// **Settings.** The `Configuration` is fixed when the manager is made. Base URL, default headers, credentials, observers, the duplicate
/// handler and the connection limit can be changed later. A request in flight keeps the environment and the observers with which it
/// started.
///
/// **Lifetime.** A started request continues after its manager is released. Several managers may exist side by side. Each has its own
/// connection limit and its own state, unless they share a transport, a cache or a cookie jar.
///
/// **Threads.** All methods and properties may be used from any thread. No method blocks.
///
/// **Ending requests.** `dropAllRequests()` drops the requests in flight. `reset()` also waits for them and clears the manager's state, for
/// example at a logout. `shutdown(within:)` ends the manager.
public final class Ness: Sendable {
    /// The settings that can change, and the manager for the pipeline. The pipeline holds neither the manager nor the delegate strongly.
    private final class Settings: Sendable {
        struct State: Sendable {
            weak var manager: Ness?
            weak var delegate: (any NetworkSessionManagerDelegate)?
            var duplicatedHandler: (any DuplicatedHandler)?
            var observers: [any RequestObserver]
            var environment: ServerEnvironment
        }

        let state: Lock<State>

        init(_ configuration: Configuration) {
            state = Lock(
                State(
                    duplicatedHandler: configuration.duplicatedHandler, observers: configuration.observers,
                    environment: configuration.environment))
        }
    }

    private let settings: Settings
    let pipeline: Pipeline
    /// False for a manager that `withoutAuthentication()` returned.
    let authenticates: Bool
    /// The manager with which this one shares everything. It calls the delegate, so it must live as long as this one.
    private let original: Ness?
    let defaults: RequestDefaults
    private static let sharedDefault = Lock(Ness())
    /// The configuration with which the manager was made. For the current base URL, default headers and authentication see `environment`.
    public let configuration: Configuration

    /// A shared manager for code that needs no particular settings. It may be replaced.
    public static var `default`: Ness {
        get { sharedDefault.withLock { $0 } }
        set { sharedDefault.replace(\.self, with: newValue) }
    }

    /// Makes a manager with a new transport: `CurlTransport` on Linux, `URLSessionTransport` on Apple platforms. On Linux,
    /// requests fail with `NessError.Kind.invalidRequest` if the process has no libcurl 7.76 or later. The environment variable
    /// `NESS_TRANSPORT` with the value `urlsession` makes URLSession the default on Linux.
    /// - Parameter configure: Changes the configuration. Runs during this call.
    public init(_ configure: (inout Configuration) -> Void = { _ in }) {
        var configuration = Configuration(transport: DefaultTransport.make())
        configure(&configuration)
        self.configuration = configuration
        defaults = RequestDefaults(configuration)
        authenticates = true
        original = nil
        settings = Settings(configuration)
        let preparation = RequestPreparation(
            hooks: { [settings] in
                let (manager, delegate) = settings.state.withLock { ($0.manager, $0.delegate) }
                guard let manager, let delegate else { return nil }
                return delegate.hooks(for: manager)
            })
        pipeline = Pipeline(
            PipelineConfiguration(configuration), clock: PipelineClock(configuration.clock), preparation: preparation,
            manager: { [settings] in settings.state.withLock { $0.manager } },
            duplicatedHandler: { [settings] in settings.state.withLock { $0.duplicatedHandler } },
            observers: { [settings] in settings.state.withLock { $0.observers } })
        settings.state.withLock { $0.manager = self }
    }

    /// Makes a manager with one of the built-in duplicate handlers.
    /// - Parameter onDuplicated: The handler.
    public convenience init(onDuplicated: DefaultDuplicatedHandler) { self.init { $0.duplicatedHandler = onDuplicated } }

    /// Makes a manager that shares everything with another one.
    private init(_ other: Ness, authenticates: Bool) {
        self.authenticates = authenticates
        original = other
        (settings, pipeline) = (other.settings, other.pipeline)
        (configuration, defaults) = (other.configuration, other.defaults)
    }

    /// Returns a manager whose requests are not authenticated, for a login or the public parts of an API. It shares everything else with
    /// this manager, such as connections, limits and settings. A `reset()` of either resets both.
    ///
    /// A single request can still authenticate: see `RequestBuilder.authenticate(with:)`.
    public func withoutAuthentication() -> Ness { Ness(self, authenticates: false) }

    /// The handler that decides about a request that equals one in flight. `nil` coalesces GET, HEAD and OPTIONS requests.
    public var duplicatedHandler: (any DuplicatedHandler)? {
        get { settings.state.withLock { $0.duplicatedHandler } }
        set { settings.state.replace(\.duplicatedHandler, with: newValue) }
    }

    /// The observers of requests that start from now on. Requests in flight keep theirs.
    public var observers: [any RequestObserver] {
        get { settings.state.withLock { $0.observers } }
        set { settings.state.replace(\.observers, with: newValue) }
    }

    /// The clock of every wait and timeout.
    var pipelineClock: PipelineClock { pipeline.clock }

    /// The numbers of waiting requests, by what they wait for.
    package var waiting: WaitingRequests { pipeline.waiting }

    /// The largest number of concurrent exchanges with each origin. Other requests wait. A higher number starts waiting requests. A lower
    /// number ends no exchange, but none starts above it.
    ///
    /// Zero pauses the manager: no exchange starts, regardless of what its request waits for, except with
    /// `RequestBuilder.withoutQueueing()`. During a pause, deadlines pass but timeouts do not.
    public var maximumConnectionsPerHost: Int {
        get { pipeline.hosts.limit }
        set { pipeline.hosts.limit = newValue }
    }

    /// The delegate, which sees every attempt before it is sent. Held weakly.
    public var delegate: (any NetworkSessionManagerDelegate)? {
        get { settings.state.withLock { $0.delegate } }
        set { settings.state.withLock { $0.delegate = newValue } }
    }

    /// The current base URL, default headers and credentials. Setting the environment replaces all three together, for requests that start
    /// afterwards, even if they were built before. Requests in flight keep theirs.
    public var environment: ServerEnvironment {
        get { settings.state.withLock { $0.environment } }
        set {
            var newValue = newValue
            newValue.defaultHeaders.secrets = defaults.secrets
            settings.state.replace(\.environment, with: newValue)
        }
    }

    /// Makes a request builder.
    ///
    /// Values can follow the URL, as in `httpRequest(.get, withUrl: "users", id, "orders")`. Each becomes one path segment, percent-encoded
    /// including `/` and `?`. Untrusted input thus cannot lead the request, and its credential, to another path.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: A `String`, a `URL` or `URLComponents`, absolute or relative to the base URL. `/users` is relative to the host: it leaves
    ///     the base URL's path, and is sent without the credential. If a string is not a valid URL, the request fails with
    ///     `NessError.Kind.invalidRequest` when it is started.
    ///   - segments: The values. For `.`, `..` and an empty string, the request fails with `NessError.Kind.invalidRequest` when it is
    ///     started.
    /// - Returns: A builder. It is a value, which can be kept, changed and sent any number of times.
    public func httpRequest(
        _ method: HTTPMethod = .get, withUrl url: some URLConvertible, _ segments: any CustomStringConvertible...
    ) -> RequestBuilder {
        RequestBuilder(sender: self, method: method, url: url, segments: segments)
    }

    // MARK: ending requests

    /// Drops every request that is in flight. The manager remains usable.
    public func dropAllRequests() { pipeline.running.dropAll(in: nil) }

    /// Drops every request of a group that is in flight.
    /// - Parameter group: The group's name: see `RequestBuilder.add(group:)`.
    public func dropAllRequests(in group: String) { pipeline.running.dropAll(in: group) }

    /// Drops every request that is in flight, waits until no exchange is running, and discards the state that the pipeline and its loaders
    /// keep between requests.
    ///
    /// After it returns, no request from before the reset can deliver a result or send bytes. Requests that are made during the reset fail
    /// with `NessError.Kind.dropped`. A second reset that starts meanwhile ends together with the first.
    ///
    /// The reset may be awaited anywhere, even inside a loader, a transport or a mock's handler. Inside an exchange or a download of this
    /// manager, it returns as soon as the requests are dropped, because the reset has to wait for that exchange. It completes after the
    /// exchange has ended.
    ///
    /// The manager recognizes such a caller by its task, by tasks made with `Task { }` in it, and by handlers that were added to a promise
    /// in it. It does not recognize a detached task. Inside a transport, do not wait for a detached task that resets the manager.
    public func reset() async { await pipeline.running.reset { [pipeline] in await pipeline.reset() } }

    /// Shuts the manager down permanently.
    ///
    /// New requests fail with `NessError.Kind.dropped`, except those that a credential refresh sends for a request in flight. Requests in
    /// flight may finish within the limit; Ness then drops the others. The method returns when every exchange and download has ended, the
    /// files of downloads and the records of uploads are closed, and the transport has shut down: its sockets, threads and timers are gone. A transport that several managers share
    /// is shut down for all of them.
    ///
    /// A paused transfer counts as in flight. When it is dropped, a download keeps its partial file, and an upload its record. Cache and cookies are not cleared. Canceling
    /// the waiting task drops the requests in flight immediately. A second shutdown, and a reset afterwards, are harmless.
    ///
    /// Like `reset()`, this method may be awaited anywhere. Inside an exchange or a download of this manager it returns immediately, and
    /// the shutdown continues in the background.
    /// - Parameter limit: The longest time that requests in flight may still take, on the manager's clock.
    public func shutdown(within limit: Duration) async {
        await pipeline.running.shutDown(within: limit, pipelineClock) { [configuration, pipelineClock] in
            await configuration.transport.shutdown()
            pipelineClock.rest()
        }
    }

    /// Makes a deadline that several requests can share: see `RequestBuilder.set(deadline:)`.
    ///
    /// The deadline is a time on the manager's clock, so a test with a `ManualClock` decides when it passes.
    /// - Parameter time: The time from now until the deadline. If it is not positive, the deadline has passed.
    public func deadline(after time: Duration) -> RequestDeadline { RequestDeadline(after: time, on: pipelineClock) }
}

extension Ness: RequestSender {}
