import Foundation
import NessLock

/// A request in the pipeline: a plain value. Loaders and the delegate may change it.
///
/// A request contains what is sent, and the caller's limits and policies. It does not contain the state of the call that it
/// belongs to. A request that a loader makes itself and passes to `next` belongs to the same call.
///
/// The initializer checks nothing. Just before a request is sent, the pipeline checks it. A value that could inject a line, or that no
/// transport can send, fails the request with `NessError.Kind.invalidRequest`.
public struct HTTPRequest: Sendable {
    /// The stored properties of a request.
    private struct Fields: Sendable {
        var id = RequestNumber.next()
        var method: HTTPMethod
        var url: URL
        var headers: HTTPHeaders
        var body: HTTPBody?
        var timeout: Duration
        var deadline: Duration?
        var redirects = RedirectPolicy.follow()
        var settings = RequestSettings()
        var secrets = SecretNames()
        var options = RequestOptions()
        var target: RequestTarget?
        var fragment: URLFragment?
        var tlsDemands: TLSDemands?
        var jsonDecoder: JSONDecoder?
    }

    private var box: CopyOnWriteBox<Fields>

    private var fields: Fields { box.fields }

    /// A number that is unique in this process. All attempts and redirects of a request keep it.
    public var id: Int { fields.id }
    /// The method.
    public var method: HTTPMethod {
        get { fields.method }
        set { box.change { $0.method = newValue } }
    }
    /// The target. It may be relative until the pipeline resolves it against the manager's base URL.
    public var url: URL {
        get { fields.url }
        set { box.change { ($0.url, $0.target, $0.fragment) = (newValue, nil, nil) } }
    }
    /// The header fields, in the order in which they are sent.
    public var headers: HTTPHeaders {
        get { fields.headers }
        set { box.change { $0.headers = newValue } }
    }
    /// The content; `nil` for none.
    public var body: HTTPBody? {
        get { fields.body }
        set { box.change { $0.body = newValue } }
    }
    /// The longest time without a byte in either direction. Time in a queue does not count.
    public var timeout: Duration {
        get { fields.timeout }
        set { box.change { $0.timeout = newValue } }
    }
    /// The longest time for the whole request, with its retries and waits; `nil` for no limit.
    public var deadline: Duration? {
        get { fields.deadline }
        set { box.change { $0.deadline = newValue } }
    }
    /// The policy for redirects.
    public var redirects: RedirectPolicy {
        get { fields.redirects }
        set { box.change { $0.redirects = newValue } }
    }
    /// The settings that tell requests apart.
    var settings: RequestSettings {
        get { fields.settings }
        set { box.change { $0.settings = newValue } }
    }
    /// A Boolean value that indicates whether repeating the request is harmless. Unless it was set, it depends on the method (RFC 9110,
    /// section 9.2.2).
    public var isIdempotent: Bool {
        get { fields.settings.isIdempotent ?? method.isIdempotent }
        set { box.change { $0.settings.isIdempotent = newValue } }
    }
    /// The names of secret header fields and of secret parameters in queries, forms and JSON. No description shows their values, and no
    /// redirect carries the fields to another origin.
    package var secrets: SecretNames {
        get { fields.secrets }
        set { box.change { $0.secrets = newValue } }
    }
    /// The options that the caller set for loaders.
    var options: RequestOptions {
        get { fields.options }
        set { box.change { $0.options = newValue } }
    }

    /// The decoder for JSON: the request's, or else the manager's; `nil` for a request that no manager made. A response uses the decoder of
    /// its request, so that even a response of the cache or of a loader has one.
    var jsonDecoder: JSONDecoder? { fields.jsonDecoder }

    /// The fragment that the URL had before the request was checked, or that a redirect named. Setting `url` removes it.
    var fragment: URLFragment? {
        get { fields.fragment }
        set { box.change { $0.fragment = newValue } }
    }

    /// The demands on the connection; `nil` for none. Only the request that a transport gets has them, because a redirect to another host
    /// must not inherit them. A manager replaces demands that are already set with those of its rules. A transport that passes the request
    /// on to another host sets the demands of that host.
    public var tlsDemands: TLSDemands? {
        get { fields.tlsDemands }
        set { box.change { $0.tlsDemands = newValue } }
    }

    /// The URL in its parsed form; `nil` if it was not parsed, or is not in the common form.
    var target: RequestTarget? { fields.target }

    /// The idle timeout of a request that sets none: 60 seconds.
    package static let defaultTimeout = Duration.seconds(60)

    /// Makes a request.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The target, absolute or relative to the manager's base URL.
    ///   - headers: The header fields.
    ///   - body: The content.
    ///   - timeout: The longest time without a byte in either direction.
    ///   - deadline: The longest time for the whole request; `nil` for no limit.
    public init(
        _ method: HTTPMethod = .get, url: URL, headers: HTTPHeaders = [:], body: HTTPBody? = nil,
        timeout: Duration = .seconds(60), deadline: Duration? = nil
    ) {
        box = CopyOnWriteBox(
            Fields(method: method, url: url, headers: headers, body: body, timeout: timeout, deadline: deadline))
    }

    /// Makes the request of a builder, with one allocation.
    init(
        _ method: HTTPMethod, url: URL, headers: HTTPHeaders, body: HTTPBody?, timeout: Duration, deadline: Duration?,
        redirects: RedirectPolicy, settings: RequestSettings, secrets: SecretNames, options: RequestOptions, jsonDecoder: JSONDecoder
    ) {
        box = CopyOnWriteBox(
            Fields(
                method: method, url: url, headers: headers, body: body, timeout: timeout, deadline: deadline, redirects: redirects,
                settings: settings, secrets: secrets, options: options, target: RequestTarget(url), jsonDecoder: jsonDecoder))
    }

    /// Returns true if one is a copy of the other, and neither has changed since.
    func isIdentical(to other: HTTPRequest) -> Bool { box.isIdentical(to: other.box) }

    /// Returns this request, which was sent for several callers, as the request of one of them. It has that caller's identifier and
    /// options, and the secret names of both. It has that caller's fragment, unless a redirect named another.
    func shown(to caller: HTTPRequest) -> HTTPRequest {
        if id == caller.id { return self }
        var shown = self
        shown.box.change { fields in
            fields.id = caller.id
            fields.options = caller.options
            fields.jsonDecoder = caller.jsonDecoder
            if fields.fragment?.isOfRedirect != true { fields.fragment = caller.fragmentOfURL }
            guard caller.secrets != fields.secrets else { return }
            var secrets = caller.secrets
            secrets.hide(fields.secrets)
            fields.secrets = secrets
            fields.headers.secrets = secrets
        }
        return shown
    }

    /// Returns a request of a call as the observers of a caller see it: with the caller's identifier, the options of both, of which the
    /// caller's apply first, and the secret names of both.
    func observed(by caller: HTTPRequest) -> HTTPRequest {
        if id == caller.id { return self }
        var observed = shown(to: caller)
        observed.box.change { $0.options.inherit(options) }
        return observed
    }

    /// Returns a request that a loader or a redirect decision made, with the options, the settings, the decoder and the secret names of
    /// the caller's request.
    func inheriting(from caller: HTTPRequest) -> HTTPRequest { id == caller.id ? self : adding(optionsOf: caller) }

    @inline(never)
    private func adding(optionsOf caller: HTTPRequest) -> HTTPRequest {
        var inheriting = self
        inheriting.box.change { fields in
            fields.options.inherit(caller.options)
            fields.settings.inherit(caller.settings)
            fields.jsonDecoder = fields.jsonDecoder ?? caller.jsonDecoder
            // A name that is secret in the caller's request stays secret, even if the loader's request declares it public.
            var secrets = caller.secrets
            secrets.apply(fields.secrets)
            secrets.hide(caller.secrets)
            fields.secrets = secrets
        }
        return inheriting
    }

    /// Adds header fields after the existing ones, with one allocation.
    mutating func add(_ added: [HTTPHeaders.Field]) {
        if added.isEmpty { return }
        box.change { fields in
            for field in added { fields.headers.add(field.value, for: field.name) }
        }
    }
}

/// Numbers the requests of this process.
private enum RequestNumber {
    private static let last = Lock(0)

    static func next() -> Int {
        last.withLock { last in
            last += 1
            return last
        }
    }
}

extension HTTPRequest {
    /// The header fields of the request and of its body.
    package var sentHeaders: HTTPHeaders { (body?.headers ?? [:]).merging(headers) }
    /// The URL without secrets, for logs and traces: the values of secret parameters and the user information are hidden, as in the
    /// description.
    public var redactedURL: String { redactor.redacted(url) }
    /// A redactor for strings about the request.
    package var redactor: Redactor { Redactor(secrets, sentBy: [self]) }
}

extension HTTPRequest: RedactedValue {
    /// The method and the URL, without secrets.
    package var redactedDescription: String { redactor.redacted(self) }
}
