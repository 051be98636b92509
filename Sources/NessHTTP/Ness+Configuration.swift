import Foundation

extension Ness {
    /// The settings that all requests of a manager share.
    public struct Configuration: Sendable {
        /// The URL against which relative URLs are resolved. It counts as a folder, with or without a slash at its end. A relative URL inside
        /// it gets its query. Its fragment has no effect.
        public var baseURL: URL?
        /// Header fields for every request that does not set them itself.
        public var defaultHeaders: HTTPHeaders = [:] { didSet { defaultHeaders.secrets = secrets } }
        /// The longest time without a byte in either direction, for requests that set no timeout.
        public var timeout = HTTPRequest.defaultTimeout
        /// The longest time until a connection is ready, for requests that set no limit: for the name lookup, TCP and TLS together, even to
        /// a proxy. Time in queues does not count. `nil` for no limit but the timeout. A limit that is not positive fails each request with
        /// `NessError.Kind.invalidRequest`.
        ///
        /// A request that exceeds it fails with `NessError.Kind.cannotConnect`: it certainly did not reach the server. `CurlTransport`
        /// keeps to the limit. `URLSessionTransport` does not tell when a connection is ready: with it, the timeout includes the
        /// connection.
        public var connectTimeout: Duration? = .seconds(10)
        /// The longest time for a whole request, for requests that set no deadline. `nil` for no limit.
        public var deadline: Duration?
        /// The largest size of a response's body, in bytes after decompression, together with the bodies of the redirects that led to it.
        /// `nil` for no limit. It also applies to streams, and to the whole file of a download. A longer body fails with
        /// `NessError.Kind.responseTooLarge`, and a negative limit with `invalidRequest`.
        public var maximumResponseBytes: Int?
        /// The largest number of concurrent exchanges with each origin. Other requests wait, first in, first out. The initial value is at
        /// least one: see `Ness.maximumConnectionsPerHost`.
        public var maximumConnectionsPerHost = 6
        /// The largest number of concurrent exchanges with all hosts together, at least one. Other requests wait, first in, first out.
        /// `nil` for no such limit.
        public var maximumConcurrentRequests: Int?
        /// The redirect policy of requests that set none. A redirect with 307 or 308 takes the method and the body to another origin.
        public var redirects = RedirectPolicy.follow()
        /// A Boolean value that indicates whether a redirect may lead from https to http.
        public var allowsInsecureRedirects = false
        /// The retry policy of requests that set none. `nil` for no retries. It applies only when a retry is safe: the request is
        /// idempotent, it certainly never reached the server, or the status is one of the policy's `repeatsRefused`.
        public var retryControl: (any RetryControl)?
        /// The limit on the share of retries among all requests. It prevents retry storms during an outage.
        public var retryBudget = RetryBudget()
        /// The handler that decides about a request that equals one in flight. `nil` coalesces GET, HEAD and OPTIONS requests.
        public var duplicatedHandler: (any DuplicatedHandler)?
        /// Names of header fields that are ignored when requests are compared, such as a trace identifier.
        public var headersIgnoredInDuplicates: [String] = []
        /// The authentication, which adds credentials to requests under `baseURL`, and to those with `RequestBuilder.authenticate(with:)`.
        public var authentication: (any Authentication)?
        /// The cache that stores responses and serves later requests. `nil` for no cache.
        public var cache: HTTPCache?
        /// The jar that stores cookies and adds them to later requests. `nil` for no cookies.
        public var cookies: CookieJar?
        /// The limit of the rate at which requests start. `nil` for no limit.
        public var throttle: ThrottleLimit?
        /// The limits of the circuit breaker, which sends no requests to a host that keeps failing. `nil` for no circuit breaker.
        public var circuitBreaker: CircuitBreakerLimit?
        /// A closure that returns the group of a request, whose limits then apply to it: see `LimitGroup`. `nil` from the closure leaves the
        /// request to the manager's limits.
        ///
        /// It runs for each exchange, which includes retries, redirects and ranges. Its request has the credential, but not the changes of
        /// loaders at `.exchange`. The closure runs off the main thread, for several requests concurrently. It must not block, because the
        /// request waits for it.
        public var limitGroup: (@Sendable (HTTPRequest) -> LimitGroup?)?
        /// Names of header fields and parameters that are secret in addition to those that are secret by their words. Descriptions of
        /// the manager's requests, errors and logs show a secret value as `<redacted>`. A secret header field is not sent to another origin.
        ///
        /// The words of a name make it secret, in any spelling: `X-Auth-Token`, `authToken` and `AUTH_TOKEN` are equal. Words for tokens,
        /// passwords, secrets, signatures, credentials, sessions, cookies and authorization make a name secret. `key` does so after such a
        /// word as `api`, `access`, `auth` or `private`. A name that describes a secret, such as `token_type` or `password_length`, is not
        /// secret. In queries and forms, the names `code` and `key` are secret as well, because they carry OAuth codes and API keys.
        ///
        /// A value that a request sent under a secret name is hidden wherever a string about the request repeats it. A value shorter than 6
        /// bytes is not, because it occurs in other words. Text that is neither JSON nor a form is hidden entirely if it mentions a secret
        /// name.
        public var secretNames: [String] = [] { didSet { defaultHeaders.secrets = secrets } }
        /// Names of header fields and parameters that are not secret, even if their words say so. A name in both lists is secret.
        /// `Authorization`, `Proxy-Authorization`, `Cookie` and `Set-Cookie` stay secret as header fields.
        public var publicNames: [String] = [] { didSet { defaultHeaders.secrets = secrets } }
        /// The default JSON decoder. Do not change the object after the manager was made.
        public var jsonDecoder = JSONDecoder()
        /// The default JSON encoder of `set(jsonEncodable:)`. `nil` for an encoder that sorts keys. Do not change the object after the
        /// manager was made.
        public var jsonEncoder: JSONEncoder?
        /// The validators of all responses, which judge before those of the request. They run off the main thread, like the validators of
        /// a request. A response that one of them rejects fails the attempt with `NessError.Kind.validation`.
        public var validators: [any ResponseValidator] = []
        /// A Boolean value that indicates whether `dataRequest(decoding:)` rejects a response whose Content-Type is not JSON, for requests
        /// that do not set this.
        public var checksContentType = true
        /// The type of the API's errors, for requests that set none. Ness decodes it from a response that is rejected for its status. The
        /// value becomes the `underlying` of the error. `nil` for no such type. `APIProblem.self` reads RFC 9457.
        public var decodingErrors: (any DecodableError.Type)?
        /// The application's loaders. They run in this order for every attempt, after the default headers and the delegate.
        public var loaders: [any HTTPLoader] = []
        /// The loaders of `insert(_:at:)`.
        var inserted = PlacedLoaders()
        /// The servers that are trusted, for example those with certain public keys.
        public var serverTrust = ServerTrust.system
        /// The client certificates, by host pattern: see `ServerTrust`. Other hosts, and plain HTTP, receive no certificate. If the
        /// transport cannot present one, https requests to that host fail with `NessError.Kind.invalidRequest`. An invalid or duplicate
        /// host fails every request.
        public var clientIdentities: [String: ClientIdentity] = [:]
        /// The transport, which sends the requests.
        public var transport: any Transport
        /// The initial observers: see `Ness.observers`. Held strongly.
        public var observers: [any RequestObserver] = []
        /// The clock of every wait and timeout.
        public var clock: any Clock<Duration> = ContinuousClock()

        init(transport: any Transport) { self.transport = transport }
    }
}

extension Ness.Configuration {
    /// Adds a loader at a place in the pipeline. Loaders at one place run in the order in which they were added; at `.attempt` they run
    /// after those of `loaders`.
    ///
    /// ```swift
    /// configuration.insert(Stamp(), at: .call)
    /// configuration.insert(
    ///     .modifyRequest { $0.headers["Date"] = now() }, at: .authenticated)
    /// ```
    /// - Parameters:
    ///   - loader: The loader.
    ///   - place: The place, which decides how often the loader runs and what it sees.
    public mutating func insert(_ loader: any HTTPLoader, at place: LoaderPlace) { inserted[place].append(loader) }
}

extension Ness.Configuration {
    /// The secret names for all requests.
    var secrets: SecretNames {
        var secrets = SecretNames()
        secrets.remove(publicNames)
        secrets.insert(secretNames)
        return secrets
    }

    /// The initial environment.
    var environment: ServerEnvironment {
        ServerEnvironment(baseURL: baseURL, defaultHeaders: defaultHeaders, authentication: authentication)
    }
}

extension Ness.Configuration: RedactedValue {
    /// The base URL, the default headers, the type of authentication and the type of transport, without secrets.
    package var redactedDescription: String {
        "\(environment) \(type(of: transport))"
    }
}

extension RequestDefaults {
    /// Copies the settings that request builders need.
    init(_ configuration: Ness.Configuration) {
        self.init(
            timeout: configuration.timeout, deadline: configuration.deadline, redirects: configuration.redirects,
            allowsInsecureRedirects: configuration.allowsInsecureRedirects, secrets: configuration.secrets,
            validators: configuration.validators,
            hasAccept: configuration.defaultHeaders.contains(HeaderName.accept), checksContentType: configuration.checksContentType,
            errorDecoding: configuration.decodingErrors.map(ErrorDecoding.json), jsonDecoder: configuration.jsonDecoder,
            jsonEncoder: configuration.jsonEncoder)
    }
}

extension PipelineConfiguration {
    /// Copies the settings that the pipeline needs.
    init(_ configuration: Ness.Configuration) {
        var loaders = configuration.inserted
        loaders[.attempt] = configuration.loaders + loaders[.attempt]
        self.init(
            loaders: loaders, retryBudget: configuration.retryBudget, retryControl: configuration.retryControl,
            cookies: configuration.cookies, cache: configuration.cache,
            headersIgnoredInDuplicates: configuration.headersIgnoredInDuplicates, circuitBreaker: configuration.circuitBreaker,
            throttle: configuration.throttle, limitGroup: configuration.limitGroup,
            maximumConnectionsPerHost: configuration.maximumConnectionsPerHost,
            maximumConcurrentRequests: configuration.maximumConcurrentRequests,
            wire: Wire(
                configuration.transport, serverTrust: configuration.serverTrust, identities: configuration.clientIdentities,
                maximumBytes: configuration.maximumResponseBytes, connectTimeout: configuration.connectTimeout))
    }
}
