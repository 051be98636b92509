import Foundation

/// Describes a request. A builder is a value: define it once, change copies of it, and send it any number of times.
///
/// A manager makes builders: `ness.get("users")`. Every setter returns a changed copy. `decoded(as:)` and `response()` send the request and
/// wait for the result. `dataRequest()`, `downloadRequest(forSavedLocation:)` and `streamRequest()` send it and return a promise. Each call
/// sends a separate request.
///
/// ```swift
/// let users = ness.get("users")
///     .set(urlParameters: ["fields": "name"])
///     .set(timeout: .seconds(10), deadline: .seconds(60))
///
/// let first = try await users.decoded(as: [User].self)
/// let second = try await users
///     .set(urlParameters: ["page": 2])
///     .decoded(as: [User].self)
/// ```
///
/// **Order does not matter.** Setters of different things commute. A body's own header fields, such as `Content-Type`, belong to the body
/// and are replaced with it. A header field that the caller sets wins, whether it is set before the body or after.
///
/// **Setting twice.** `set(headers:)` and `set(urlParameters:)` add to what earlier calls set, and replace what has the same name. A
/// `SetOption` changes this. Limits and policies keep the last value. Validators, groups and secret names add up.
///
/// **Errors are delivered by the promise.** No setter throws. An invalid URL, and parameters or a body that cannot be encoded, fail the
/// request with `NessError.Kind.invalidRequest` when it is started. Ness then sends nothing. `build()` throws the same error immediately.
///
/// **Threads.** A builder may be used from any thread. The request runs off the main thread.
///
/// **Testing.** `build()` returns the `HTTPRequest` without sending it:
///
/// ```swift
/// let url = try users.build().url.absoluteString
/// #expect(url == "https://api.example.com/v1/users?fields=name")
/// ```
public struct RequestBuilder: Sendable {
    let sender: any RequestSender
    var method: HTTPMethod
    var url: Result<URL, any Error>
    /// The URL as a string, for descriptions. It exists even if the URL is invalid.
    var urlText: String
    var query: Result<URLQuery, any Error> = .success(URLQuery())
    var headers: HTTPHeaders = [:]
    var body: Result<HTTPBody?, any Error> = .success(nil)
    var gzipsBody = false
    var collectsBody = false
    var timeout: Duration?
    var deadline: Duration?
    /// The time by which the request has to end, in place of `deadline`; `nil` for none.
    var deadlineEnd: RequestDeadline?
    var redirects: RedirectPolicy?
    var allowsInsecureRedirects: Bool?
    /// The settings that tell requests apart. `build()` sets `allowsInsecureRedirects` in them.
    var settings = RequestSettings()
    /// The names that the caller added and removed.
    var secretNames = SecretNames()
    var groups: Set<String> = []
    var authentication = AuthenticationChoice.inherited
    var retryControl: (any RetryControl)?
    var validators: [any ResponseValidator] = []
    var options = RequestOptions()
    var environment: ServerEnvironment?
    var checksContentType: Bool?
    /// The decoding of the API's errors; `nil` for the manager's `decodingErrors`.
    var errorDecoding: ErrorDecoding?
    /// The decoder for JSON; `nil` for the manager's.
    var jsonDecoder: JSONDecoder?
    var duplicateIdentifier: String?
    /// The closures that receive the request's events while it runs; `nil` for none.
    var listeners: RequestListeners?
    /// The request's own loaders and observers; `nil` for none.
    var overrides: RequestOverrides?

    init(sender: any RequestSender, method: HTTPMethod, url: some URLConvertible, segments: [any CustomStringConvertible] = []) {
        self.sender = sender
        self.method = method
        self.url = Result { try segments.isEmpty ? url.asURL() : url.asURL().appending(segments: segments.map(\.description)) }
        if !sender.authenticates { authentication = .none }
        urlText = url as? String ?? (try? self.url.get().absoluteString) ?? "\(type(of: url))"
    }

    /// The manager's clock.
    package var pipelineClock: PipelineClock { sender.pipeline.clock }
    /// The manager's encoder for JSON; `nil` for the default encoder.
    package var jsonEncoder: JSONEncoder? { sender.defaults.jsonEncoder }

    /// The treatment of values that an earlier call of a setter has set.
    public enum SetOption: Sendable, Hashable {
        /// The new values replace all earlier ones.
        case overwriteAll
        /// The new values are added. They replace earlier values of the same name.
        case appendAndOverwriteSameKey
        /// The new values are added. Earlier values of the same name stay, and the new ones are ignored.
        case appendAndKeepPreviousValue
    }

    /// Returns the builder of a URL with further path segments.
    func appending(_ segments: [String]) -> RequestBuilder {
        with { builder in builder.url = Result { try url.get().appending(segments: segments) } }
    }

    func with(_ change: (inout RequestBuilder) -> Void) -> RequestBuilder {
        var copy = self
        change(&copy)
        return copy
    }

    // MARK: time

    /// Sets the time limits. A limit that is not positive fails the request with `NessError.Kind.invalidRequest` when it is started.
    /// - Parameters:
    ///   - timeout: The longest time without a byte in either direction. `nil` keeps the limit that is set.
    ///   - firstByteTimeout: The longest time without a byte until the response starts, in place of `timeout`, for a server that computes
    ///     for minutes first. `nil` keeps the limit that is set, which is `timeout` in a request that sets none.
    ///   - deadline: The longest time for the whole request, including retries and waits. `nil` keeps the limit that is set.
    ///   - connectTimeout: The longest time until a connection is ready: see `Ness.Configuration.connectTimeout`. `nil` keeps the limit that
    ///     is set.
    public func set(
        timeout: Duration? = nil, firstByteTimeout: Duration? = nil, deadline: Duration? = nil, connectTimeout: Duration? = nil
    ) -> RequestBuilder {
        with { builder in
            if let timeout { builder.timeout = timeout }
            if let firstByteTimeout { builder.options[FirstByteTimeout.self] = firstByteTimeout }
            if let deadline {
                (builder.deadline, builder.deadlineEnd) = (deadline, nil)
                builder.options[SharedDeadline.self] = nil
            }
            if let connectTimeout { builder.settings.connectTimeout = connectTimeout }
        }
    }

    /// Sets the time by which the request has to end, which several requests may share:
    ///
    /// ```swift
    /// let deadline = ness.deadline(after: .seconds(10))
    /// let user = try await ness.get("users/1").set(deadline: deadline)
    ///     .decoded(as: User.self)
    /// let cats = try await ness.get("users/1/cats").set(deadline: deadline)
    ///     .decoded(as: [Cat].self)
    /// ```
    ///
    /// When the request is started, the time that is left becomes its deadline. If none is left, the request fails with
    /// `NessError.Kind.timedOut`, and nothing is sent.
    /// - Parameter deadline: The time, in place of a deadline as a duration.
    public func set(deadline: RequestDeadline) -> RequestBuilder {
        with { builder in
            builder.deadlineEnd = deadline
            builder.options[SharedDeadline.self] = deadline.duration
        }
    }

    /// The longest time for the whole request, if it started now; `nil` for no limit.
    var timeToDeadline: Duration? { deadlineEnd?.remaining ?? deadline ?? sender.defaults.deadline }

    // MARK: redirects and secrets

    /// Sets the redirect policy. A redirect with 307 or 308 takes the method and the body to another origin: see `RedirectPolicy`.
    /// - Parameters:
    ///   - redirects: The policy.
    ///   - allowsInsecure: `true` if a redirect may lead from https to http. `nil` keeps the setting.
    public func set(redirects: RedirectPolicy, allowsInsecure: Bool? = nil) -> RequestBuilder {
        with { builder in
            builder.redirects = redirects
            if let allowsInsecure { builder.allowsInsecureRedirects = allowsInsecure }
        }
    }

    /// Marks header fields and parameters as secret, and others as not secret. No description shows a secret, and no redirect carries a
    /// secret header field to another origin. A body is not a header field: a redirect with 307 or 308 carries it along.
    /// - Parameters:
    ///   - secretNames: Names in any case. They add to the names that are already secret.
    ///   - publicNames: Names in any case that are not secret, even if their words or the manager make them secret: see
    ///     `Ness.Configuration.secretNames`.
    public func set(secretNames: [String] = [], publicNames: [String] = []) -> RequestBuilder {
        with { builder in
            builder.secretNames.insert(secretNames)
            builder.secretNames.remove(publicNames)
        }
    }
}

extension RequestBuilder: RedactedValue {
    /// The method and the URL with its parameters, without secrets.
    package var redactedDescription: String {
        let text = (try? url.get().appending(try query.get()))?.absoluteString ?? urlText
        return "\(method.rawValue.oneLine) \(redactor.redacted(urlText: text))"
    }
}
