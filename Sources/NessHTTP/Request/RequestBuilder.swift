import Foundation

/// Describes a request: a value, to be defined once, kept, changed and sent any number of times.
///
/// Every setter returns a changed copy. Setters commute: a body's own headers, such as its Content-Type, belong to the body and go
/// with it; a header that the caller sets wins whenever it is set. Bodies are encoded when they are set, and what goes wrong then is the
/// request's error when it is started: nothing is sent.
public struct RequestBuilder: Sendable {
    let sender: any RequestSender
    var method: HTTPMethod
    var url: Result<URL, any Error>
    var urlText: String
    var query = URLQuery()
    var headers: HTTPHeaders = [:]
    var body: Result<HTTPBody?, any Error> = .success(nil)
    var timeout: Duration?
    var deadline: Duration?
    var redirects: RedirectPolicy?
    var allowsInsecureRedirects: Bool?
    /// The names that the caller added and removed.
    var secretNames = SecretNames()
    var groups: Set<String> = []
    var authentication = AuthenticationChoice.inherited
    var validators: [any ResponseValidator] = []
    var options = RequestOptions()
    var environment: ServerEnvironment?
    var checksContentType: Bool?
    var isIdempotent: Bool?
    var duplicateIdentifier: String?

    init(sender: any RequestSender, method: HTTPMethod, url: some URLConvertible) {
        self.sender = sender
        self.method = method
        self.url = Result { try url.asURL() }
        urlText = url as? String ?? (try? self.url.get().absoluteString) ?? "\(type(of: url))"
    }

    /// The clock of the manager.
    package var timekeeper: Timekeeper { sender.timekeeper }

    /// What a setter does with what was set before.
    public enum SetOption: Sendable, Hashable {
        /// Only the new values count.
        case overwriteAll
        /// The new values are added and replace those of the same name.
        case appendAndOverwriteSameKey
        /// The new values are added where there is none of the same name.
        case appendAndKeepPreviousValue
    }

    func with(_ change: (inout RequestBuilder) -> Void) -> RequestBuilder {
        var copy = self
        change(&copy)
        return copy
    }

    // MARK: what it describes

    /// The request as it is described so far: with its parameters in the URL, which is resolved against the base URL of
    /// the manager's environment;
    /// without what the manager adds otherwise.
    /// - Throws: `NessError.invalidRequest` with the cause: a string that is no URL, or a body that could not be encoded.
    public func build() throws -> HTTPRequest { try build(in: environment ?? sender.environment) }

    func build(in environment: ServerEnvironment) throws -> HTTPRequest {
        do {
            let defaults = sender.defaults
            guard var url = try url.get().appending(query) else { throw InvalidURL(description: "the parameters don't fit the URL") }
            // Where there is no base URL the pipeline says so.
            if let absolute = try? Environment.resolve(url, against: environment.baseURL) { url = absolute }
            let secrets = secrets
            var headers = headers
            headers.secrets = secrets
            return HTTPRequest(
                method, url: url, headers: headers, body: try body.get(), timeout: timeout ?? defaults.timeout,
                deadline: deadline ?? defaults.deadline, redirects: redirects ?? defaults.redirects,
                allowsInsecureRedirects: allowsInsecureRedirects ?? defaults.allowsInsecureRedirects, isIdempotent: isIdempotent,
                secrets: secrets, options: options)
        } catch {
            let reason = secrets.redacted(text: Self.reason(error))
            var context = NessError.Context(request: nil, attempts: 0, reason: reason, underlying: error)
            context.target = "\(method.rawValue.oneLine) \(secrets.redacted(urlText: urlText))"
            throw NessError.invalidRequest(context)
        }
    }

    /// The names that are secret for the manager and for this request.
    private var secrets: SecretNames {
        var secrets = sender.defaults.secrets
        secrets.apply(secretNames)
        return secrets
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let EncodingError.invalidValue(value, context):
            "the body can't be encoded: \(context.debugDescription) (\(type(of: value)))"
        case is EncodingError, is HTTPBodyError: "the body can't be encoded: \(error)"
        default: "\(error)"
        }
    }

    // MARK: parameters of the URL

    /// Sets parameters, which are added to the query that the URL itself has.
    /// - Parameters:
    ///   - option: What becomes of the parameters set before.
    ///   - urlParameters: Names and values; not percent-encoded.
    public func set(_ option: SetOption = .overwriteAll, urlParameters: URLQuery) -> RequestBuilder {
        with { builder in
            switch option {
            case .overwriteAll: builder.query = urlParameters
            case .appendAndOverwriteSameKey: builder.query.merge(urlParameters)
            case .appendAndKeepPreviousValue:
                let previous = builder.query
                builder.query.items += urlParameters.items.filter { !previous.contains($0.name) }
            }
        }
    }

    /// Adds a parameter behind those the name already has.
    /// - Parameters:
    ///   - value: The value; nothing is added for nil.
    ///   - key: The name.
    public func add(urlParameterValue value: (any QueryValue)?, forKey key: String) -> RequestBuilder {
        with { $0.query.append(value, named: key) }
    }

    // MARK: header fields

    /// Sets header fields.
    /// - Parameters:
    ///   - option: What becomes of the fields set before.
    ///   - headers: Names and values.
    public func set(_ option: SetOption = .overwriteAll, headers: HTTPHeaders) -> RequestBuilder {
        with { builder in
            switch option {
            case .overwriteAll: builder.headers = headers
            case .appendAndOverwriteSameKey: builder.headers.merge(headers)
            case .appendAndKeepPreviousValue: builder.headers = headers.merging(builder.headers)
            }
        }
    }

    /// Adds a value behind those the header field already has.
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The field's name.
    public func add(headerValue value: String, forKey key: String) -> RequestBuilder {
        with { $0.headers.add(value, for: key) }
    }

    // MARK: time

    /// Sets the time limits. A limit that is not positive fails with `NessError.invalidRequest` when the request is started.
    /// - Parameters:
    ///   - timeout: The longest time without a byte in either direction; nil leaves it.
    ///   - deadline: The longest time for the whole request, with its retries and waits; nil leaves it.
    public func set(timeout: Duration? = nil, deadline: Duration? = nil) -> RequestBuilder {
        with { builder in
            if let timeout { builder.timeout = timeout }
            if let deadline { builder.deadline = deadline }
        }
    }

    // MARK: redirects and secrets

    /// Says what to do with redirects.
    /// - Parameters:
    ///   - redirects: Whether to follow them.
    ///   - allowsInsecure: Whether one may lead from https to http; nil leaves it.
    public func set(redirects: RedirectPolicy, allowsInsecure: Bool? = nil) -> RequestBuilder {
        with { builder in
            builder.redirects = redirects
            if let allowsInsecure { builder.allowsInsecureRedirects = allowsInsecure }
        }
    }

    /// Marks header fields and parameters as secret: they are not shown in any description, and the fields not sent to another origin.
    /// - Parameter secretNames: Their names, in any case.
    public func set(secretNames: [String]) -> RequestBuilder { with { $0.secretNames.insert(secretNames) } }

    /// Marks header fields and parameters as not secret, though their words or the manager say so: see `SecretNames`.
    /// - Parameter publicNames: Their names, in any case.
    public func set(publicNames: [String]) -> RequestBuilder { with { $0.secretNames.remove(publicNames) } }
}

extension RequestBuilder: CustomStringConvertible, CustomReflectable {
    /// The method and the URL with its parameters, without secrets.
    public var description: String {
        let text = (try? url.get().appending(query))?.absoluteString ?? urlText
        return "\(method.rawValue.oneLine) \(secrets.redacted(urlText: text))"
    }
    /// Only the description, so that dumping a builder shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
