import Foundation

/// A request as it passes through the pipeline: a plain value that a loader, a delegate or an observer sees and may change.
///
/// It holds what goes on the wire and what the caller said about it, and nothing of the call that it belongs to: a request that a loader
/// makes itself and passes to `next` belongs to the same call as the one it was given.
///
/// Nothing is checked when it is made. Just before it is sent, the pipeline refuses what could inject a line or what no transport can send
/// with `NessError.invalidRequest`.
public struct HTTPRequest: Sendable {
    /// All that a request is.
    private struct Fields: Sendable {
        var id = RequestNumber.next()
        var method: HTTPMethod
        var url: URL
        var headers: HTTPHeaders
        var body: HTTPBody?
        var timeout: Duration
        var deadline: Duration?
        var redirects = RedirectPolicy.follow()
        var allowsInsecureRedirects = false
        var isIdempotent: Bool?
        var secrets = SecretNames()
        var options = RequestOptions()
    }

    private var box: CopyOnWriteBox<Fields>

    private var fields: Fields { box.fields }

    /// A number that no other request of this process has. All attempts at a request keep it, and its redirects do.
    public var id: Int { fields.id }
    /// The method.
    public var method: HTTPMethod {
        get { fields.method }
        set { box.change { $0.method = newValue } }
    }
    /// The target. Relative until the pipeline has resolved it against the manager's base URL.
    public var url: URL {
        get { fields.url }
        set { box.change { $0.url = newValue } }
    }
    /// The header fields, in the order in which they are sent.
    public var headers: HTTPHeaders {
        get { fields.headers }
        set { box.change { $0.headers = newValue } }
    }
    /// The content, if there is any.
    public var body: HTTPBody? {
        get { fields.body }
        set { box.change { $0.body = newValue } }
    }
    /// The longest time without a byte in either direction. Time in a queue does not count.
    public var timeout: Duration {
        get { fields.timeout }
        set { box.change { $0.timeout = newValue } }
    }
    /// The longest time for the whole request, with its retries and waits; nil for none.
    public var deadline: Duration? {
        get { fields.deadline }
        set { box.change { $0.deadline = newValue } }
    }
    /// The policy for redirects.
    public var redirects: RedirectPolicy {
        get { fields.redirects }
        set { box.change { $0.redirects = newValue } }
    }
    /// A Boolean value that indicates whether a redirect may lead from https to http.
    public var allowsInsecureRedirects: Bool {
        get { fields.allowsInsecureRedirects }
        set { box.change { $0.allowsInsecureRedirects = newValue } }
    }
    /// True if sending the request twice means the same as sending it once. The method says so (RFC 9110, 9.2.2) unless it was set.
    public var isIdempotent: Bool {
        get { fields.isIdempotent ?? method.isIdempotent }
        set { box.change { $0.isIdempotent = newValue } }
    }
    /// The header fields, and the parameters of queries, forms and JSON, that are secret: never shown, nor sent to another origin.
    public var secrets: SecretNames {
        get { fields.secrets }
        set { box.change { $0.secrets = newValue } }
    }
    /// The options that the caller set for loaders.
    var options: RequestOptions {
        get { fields.options }
        set { box.change { $0.options = newValue } }
    }

    /// The idle timeout of a request that sets none: 60 seconds.
    package static let defaultTimeout = Duration.seconds(60)

    /// Makes a request.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The target, absolute or relative to the manager's base URL.
    ///   - headers: The header fields.
    ///   - body: The content.
    ///   - timeout: The longest time without a byte in either direction.
    ///   - deadline: The longest time for the whole; nil for none.
    public init(
        _ method: HTTPMethod = .get, url: URL, headers: HTTPHeaders = [:], body: HTTPBody? = nil,
        timeout: Duration = .seconds(60), deadline: Duration? = nil
    ) {
        box = CopyOnWriteBox(
            Fields(method: method, url: url, headers: headers, body: body, timeout: timeout, deadline: deadline))
    }

    /// Makes a request as a builder describes it, with one allocation.
    init(
        _ method: HTTPMethod, url: URL, headers: HTTPHeaders, body: HTTPBody?, timeout: Duration, deadline: Duration?,
        redirects: RedirectPolicy, allowsInsecureRedirects: Bool, isIdempotent: Bool?, secrets: SecretNames, options: RequestOptions
    ) {
        box = CopyOnWriteBox(
            Fields(
                method: method, url: url, headers: headers, body: body, timeout: timeout, deadline: deadline, redirects: redirects,
                allowsInsecureRedirects: allowsInsecureRedirects, isIdempotent: isIdempotent, secrets: secrets, options: options))
    }

    /// Returns true if both are one value, unchanged since it was copied.
    func isIdentical(to other: HTTPRequest) -> Bool { box.isIdentical(to: other.box) }

    /// This request, which was sent for several callers, as the one of another caller: with that caller's identity and options, and the
    /// secrets of both.
    func shown(to caller: HTTPRequest) -> HTTPRequest {
        if id == caller.id { return self }
        var shown = self
        shown.box.change { fields in
            fields.id = caller.id
            fields.options = caller.options
            guard caller.secrets != fields.secrets else { return }
            var secrets = caller.secrets
            secrets.hide(fields.secrets)
            fields.secrets = secrets
            fields.headers.secrets = secrets
        }
        return shown
    }

    /// Adds header fields behind those that are there, with one allocation.
    mutating func add(_ added: [HTTPHeaders.Field]) {
        if added.isEmpty { return }
        box.change { fields in
            for field in added { fields.headers.add(field.value, for: field.name) }
        }
    }
}

extension HTTPRequest: Equatable {
    /// Compares what the requests say: method, URL, header fields, body, time limits, redirects, idempotence and secret names. The identifier
    /// and the options do not count. Closures cannot be compared: policies that decide on redirects are equal if their limits are, and a body
    /// with a part that a closure makes equals no other.
    public static func == (left: HTTPRequest, right: HTTPRequest) -> Bool {
        left.method == right.method && left.url == right.url && left.headers == right.headers && left.body == right.body
            && left.timeout == right.timeout && left.deadline == right.deadline && left.isIdempotent == right.isIdempotent
            && left.redirects.isSame(as: right.redirects) && left.allowsInsecureRedirects == right.allowsInsecureRedirects
            && left.secrets == right.secrets
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

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the URL, without secrets.
    public var description: String { "\(method.rawValue.oneLine) \(secrets.redacted(url))" }
    /// Only the description, so that dumping a request shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

/// The place where a request's result is kept.
public enum RequestKind: Sendable, Hashable {
    /// In memory.
    case data
    /// In memory, of a request that sends a file.
    case upload
    /// In a file.
    case download
    /// Nowhere: it is handed on as it comes.
    case stream
}
