import Foundation

extension Ness {
    /// What all requests of a manager have in common.
    public struct Configuration: Sendable {
        /// What relative URLs are resolved against; taken as a folder, with or without a slash at its end.
        public var baseURL: URL?
        /// Header fields for every request that does not set them itself.
        public var defaultHeaders: HTTPHeaders = [:]
        /// The longest time without a byte, of requests that set none.
        public var timeout = HTTPRequest.defaultTimeout
        /// The longest time for a whole request, of requests that set none; nil for none.
        public var deadline: Duration?
        /// The most that a response's body may hold, in bytes after decompression; nil for no limit. It counts for streams, and for the whole
        /// file of a download, too. A longer one fails with `NessError.responseTooLarge`.
        public var maximumResponseBytes: Int?
        /// How many exchanges run at once with each origin; the others wait, first in, first out. One at
        /// least, to begin with: see `Ness.maximumConnectionsPerHost`.
        public var maximumConnectionsPerHost = 6
        /// What to do with redirects, of requests that do not say.
        public var redirects = RedirectPolicy.follow()
        /// Whether a redirect may lead from https to http.
        public var allowsInsecureRedirects = false
        /// The control that decides on further attempts of requests that bring none themselves; nil for one attempt. It is asked only where
        /// another attempt does no harm: the request is idempotent, or the server certainly has not seen it.
        public var retryControl: (any RetryControl)?
        /// What part of the requests may be retries.
        public var retryBudget = RetryBudget()
        /// What decides on equal requests; nil merges GET, HEAD and OPTIONS.
        public var duplicatedHandler: (any DuplicatedHandler)?
        /// Names of header fields that do not make requests differ, such as a trace identifier.
        public var headersIgnoredInDuplicates: [String] = []
        /// What adds credentials to requests inside `baseURL`, and to those that ask for it.
        public var authentication: (any Authentication)?
        /// What keeps responses to answer later requests with; nil for nothing.
        public var cache: HTTPCache?
        /// What keeps the cookies that servers set, and sends them back; nil for nothing.
        public var cookies: CookieJar?
        /// How many requests may begin in a time; nil for no limit.
        public var throttle: ThrottleLimit?
        /// When to stop asking a host that only fails; nil for never.
        public var circuitBreaker: CircuitBreakerLimit?
        /// Names of header fields and parameters that are secret besides those that are by `SecretNames`: not shown, nor sent to another origin.
        public var secretNames: [String] = []
        /// Names of header fields and parameters that are not secret, though their words say so. A name in both lists is secret.
        public var publicNames: [String] = []
        /// What decodes JSON, for whoever is given no decoder. Not to be changed once the manager has it.
        public var jsonDecoder = JSONDecoder()
        /// What encodes the JSON of `set(jsonEncodable:)`, for whoever is given no encoder; nil for one that sorts keys. Not to be
        /// changed once the manager has it.
        public var jsonEncoder: JSONEncoder?
        /// Whether `dataRequest(decoding:)` refuses to decode what says that it is no JSON, for requests that do not say.
        public var checksContentType = true
        /// The type of the API's errors, which typed results decode from a response that is refused for its status, for requests that name
        /// no other; nil for none. `APIProblem.self` reads RFC 9457.
        public var decodingErrors: (any DecodableError.Type)?
        /// The caller's own stages, which run in this order for every attempt, after `defaultHeaders` and delegate.
        public var loaders: [any HTTPLoader] = []
        /// What `insert(_:_:)` was given, in order.
        var inserted: [(place: PipelinePlace, loader: any HTTPLoader)] = []
        /// The wire.
        public var transport: any Transport
        /// Watch every request, to begin with: see `Ness.observers`. Held strongly.
        public var observers: [any RequestObserver] = []
        /// What every wait and timeout goes by.
        public var clock: any Clock<Duration> = ContinuousClock()

        init(transport: any Transport) { self.transport = transport }
    }
}

extension Ness.Configuration {
    /// Puts a loader into the pipeline. `loaders` stand between `.after(.environment)` and `.before(.authenticate)`.
    ///
    /// Loaders at one place run in the order in which they were inserted. One before `.retry` runs once for a request, whatever it takes;
    /// what it answers by itself no validator has seen. One after `.retry` runs for each attempt, from the request as the caller made
    /// it. One after `.coalesce` runs once for all the callers who share an exchange, one after `.redirect` for each of the redirects.
    ///
    /// ```swift
    /// configuration.insert(Stamp(), .before(.retry))
    /// configuration.insert(.modifyRequest { $0.headers["Date"] = now() }, .after(.authenticate))
    /// ```
    /// - Parameters:
    ///   - loader: The loader.
    ///   - place: Where it goes.
    public mutating func insert(_ loader: any HTTPLoader, _ place: PipelinePlace) { inserted.append((place, loader)) }
}

extension Ness.Configuration {
    /// The names that are secret for all requests.
    var secrets: SecretNames {
        var secrets = SecretNames()
        secrets.remove(publicNames)
        secrets.insert(secretNames)
        return secrets
    }

    /// The environment to begin with.
    var environment: ServerEnvironment {
        var headers = defaultHeaders
        headers.secrets = secrets
        return ServerEnvironment(baseURL: baseURL, defaultHeaders: headers, authentication: authentication)
    }
}

extension Ness.Configuration: CustomStringConvertible, CustomReflectable {
    /// The base URL, the default headers, the type of authentication and the type of transport, without secrets.
    public var description: String {
        "\(environment) \(type(of: transport))"
    }
    /// Only the description, so that dumping a configuration shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["configuration": description]) }
}

extension RequestDefaults {
    /// Takes the settings that builders need.
    init(_ configuration: Ness.Configuration) {
        self.init(
            timeout: configuration.timeout, deadline: configuration.deadline, redirects: configuration.redirects,
            allowsInsecureRedirects: configuration.allowsInsecureRedirects, secrets: configuration.secrets,
            hasAccept: configuration.defaultHeaders.contains(HeaderName.accept), checksContentType: configuration.checksContentType,
            decodingErrors: configuration.decodingErrors, jsonDecoder: configuration.jsonDecoder, jsonEncoder: configuration.jsonEncoder)
    }
}
