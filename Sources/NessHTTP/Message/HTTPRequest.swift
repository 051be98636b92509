import Foundation

/// A request as it passes through the pipeline: what a loader, a delegate or an observer sees and may change.
///
/// Nothing is checked when it is made. Just before it is sent, what could inject a line or what no transport can send is refused
/// with `NessError.invalidRequest`.
public struct HTTPRequest: Sendable {
    /// All that a request is.
    struct Fields: Sendable {
        let id = RequestNumber.next()
        var method: HTTPMethod
        var url: URL
        var headers: HTTPHeaders
        var body: HTTPBody?
        var timeout: Duration
        var deadline: Duration?
        var secrets = SecretNames()
        var redirects = RedirectPolicy.follow()
        var allowsInsecureRedirects = false
        var isIdempotent: Bool?
        /// What a jar put into the `Cookie` field.
        var cookies: SentCookies?
        /// What equal requests have in common, where the caller says so; nil goes by what they say.
        var duplicateIdentifier: String?
        /// The request's kind: only requests of one kind can be duplicates.
        var kind = RequestKind.data
        /// The names of the groups it belongs to: see `Ness.dropAllRequests(in:)`.
        var groups: Set<String> = []
        /// What the caller wants of the response.
        var validators: [any ResponseValidator] = []
        /// What decodes the response's JSON, unless something else is given.
        var jsonDecoder: JSONDecoder?
        /// What decides on further attempts, instead of the manager's.
        var retryControl: (any RetryControl)?
        /// What authenticates this request, instead of what the manager has for its base URL.
        var authentication: AuthenticationChoice = .inherited
        /// Where a credential that the manager added may go; nil where it added none.
        var credentialScope: URL?
        /// What an `Authentication` notes of the credential it gave.
        var authenticationMark: Int?
        /// Whether an `Authentication` answers a 401 to this request.
        var isAuthenticated = false
        /// Where it began; nil for one that a loader made.
        var environment: ServerEnvironment?
        /// What the caller set for loaders of its own.
        var options = RequestOptions()
        /// How many resets the manager had seen when the request was made; nil for one that a loader made.
        var epoch: Int?
        /// Counts the attempts at this request, from 1.
        var attempt = 1
        /// Where a download's file goes; nil for what is no download.
        var download: DownloadTarget?
        /// Takes the response's body as it comes; nil has it collected.
        var sink: (any BodySink)?
        /// What an exchange needs to be allowed.
        var place: ExchangePlace?
        /// Tells the observers of this request, if there are any.
        var observation: Observation?
        /// Makes of the response what the caller wants, so that observers hear of a failure in it.
        var parse: (@Sendable (HTTPResponse) throws -> Void)?
        /// Hears what the transport does for this request.
        var activity: RequestActivity?
    }

    private var shared: Shared<Fields>

    private var fields: Fields { shared.fields }

    init(_ fields: Fields) { shared = Shared(fields) }

    /// Changes any number of fields at the cost of one.
    mutating func change(_ body: (inout Fields) -> Void) { shared.change(body) }

    /// A number that no other request of this process has. All attempts at a request keep it, and its redirects do.
    public var id: Int { fields.id }
    /// The method.
    public var method: HTTPMethod {
        get { fields.method }
        set { change { $0.method = newValue } }
    }
    /// The target. Relative until the pipeline has resolved it against the manager's base URL.
    public var url: URL {
        get { fields.url }
        set { change { $0.url = newValue } }
    }
    /// The header fields, in the order in which they are sent.
    public var headers: HTTPHeaders {
        get { fields.headers }
        set { change { $0.headers = newValue } }
    }
    /// The content, if there is any.
    public var body: HTTPBody? {
        get { fields.body }
        set { change { $0.body = newValue } }
    }
    /// The longest time without a byte in either direction. Queueing does not count.
    public var timeout: Duration {
        get { fields.timeout }
        set { change { $0.timeout = newValue } }
    }
    /// The longest time for the whole, with its retries and waits; nil for none.
    public var deadline: Duration? {
        get { fields.deadline }
        set { change { $0.deadline = newValue } }
    }
    /// Which header fields, and which parameters of queries, forms and JSON, are secret: never shown, nor sent to another origin.
    public var secrets: SecretNames {
        get { fields.secrets }
        set { change { $0.secrets = newValue } }
    }
    /// What to do with redirects.
    public var redirects: RedirectPolicy {
        get { fields.redirects }
        set { change { $0.redirects = newValue } }
    }
    /// Whether a redirect may lead from https to http.
    public var allowsInsecureRedirects: Bool {
        get { fields.allowsInsecureRedirects }
        set { change { $0.allowsInsecureRedirects = newValue } }
    }

    /// Whether sending it twice means the same as sending it once; what the method says (RFC 9110, 9.2.2) unless it was set.
    public var isIdempotent: Bool {
        get { fields.isIdempotent ?? method.isIdempotent }
        set { change { $0.isIdempotent = newValue } }
    }

    var cookies: SentCookies? { fields.cookies }
    var duplicateIdentifier: String? { fields.duplicateIdentifier }
    package var kind: RequestKind {
        get { fields.kind }
        set { change { $0.kind = newValue } }
    }
    package var groups: Set<String> {
        get { fields.groups }
        set { change { $0.groups = newValue } }
    }
    package var validators: [any ResponseValidator] {
        get { fields.validators }
        set { change { $0.validators = newValue } }
    }
    package var jsonDecoder: JSONDecoder? {
        get { fields.jsonDecoder }
        set { change { $0.jsonDecoder = newValue } }
    }
    package var retryControl: (any RetryControl)? {
        get { fields.retryControl }
        set { change { $0.retryControl = newValue } }
    }
    package var authentication: AuthenticationChoice {
        get { fields.authentication }
        set { change { $0.authentication = newValue } }
    }
    package var credentialScope: URL? {
        get { fields.credentialScope }
        set { change { $0.credentialScope = newValue } }
    }
    package var authenticationMark: Int? {
        get { fields.authenticationMark }
        set { change { $0.authenticationMark = newValue } }
    }
    package var isAuthenticated: Bool {
        get { fields.isAuthenticated }
        set { change { $0.isAuthenticated = newValue } }
    }
    var environment: ServerEnvironment? {
        get { fields.environment }
        set { change { $0.environment = newValue } }
    }
    var options: RequestOptions {
        get { fields.options }
        set { change { $0.options = newValue } }
    }
    package var epoch: Int? {
        get { fields.epoch }
        set { change { $0.epoch = newValue } }
    }
    package var attempt: Int {
        get { fields.attempt }
        set { change { $0.attempt = newValue } }
    }
    package var download: DownloadTarget? {
        get { fields.download }
        set { change { $0.download = newValue } }
    }
    package var sink: (any BodySink)? {
        get { fields.sink }
        set { change { $0.sink = newValue } }
    }
    package var place: ExchangePlace? {
        get { fields.place }
        set { change { $0.place = newValue } }
    }
    var observation: Observation? {
        get { fields.observation }
        set { change { $0.observation = newValue } }
    }
    var parse: (@Sendable (HTTPResponse) throws -> Void)? {
        get { fields.parse }
        set { change { $0.parse = newValue } }
    }
    package var activity: RequestActivity? {
        get { fields.activity }
        set { change { $0.activity = newValue } }
    }

    /// The idle timeout of a request that sets none: 60 seconds.
    public static let defaultTimeout = Duration.seconds(60)

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
        timeout: Duration = HTTPRequest.defaultTimeout, deadline: Duration? = nil
    ) {
        self.init(Fields(method: method, url: url, headers: headers, body: body, timeout: timeout, deadline: deadline))
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

extension HTTPRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method and the URL, without secrets.
    public var description: String { "\(method.rawValue.oneLine) \(secrets.redacted(url))" }
    /// As `description`.
    public var debugDescription: String { description }
    /// Only the description, so that dumping a request shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

/// Counts the attempts that got to the wire.
package protocol AttemptCounter: Sendable {
    /// The number of the last one; 0 before the first.
    var attempts: Int { get }
    /// Whether no retry control is to be asked about what the last one came to.
    var isFinal: Bool { get }
    /// Makes what the last one comes to final.
    func makeFinal()
    /// Whether the caller has dropped the request: its task may not have heard of it yet.
    var isDropped: Bool { get }
    /// Takes one of the renewals of a credential that all attempts have together.
    /// - Returns: Whether it was still there.
    func takeRenewal(after statusCode: Int) -> Bool
}

/// What a credential was renewed for: once for a 401, once for a 403, and for no 401 after that.
struct CredentialRenewals: Sendable {
    private var last: Int?

    mutating func take(after statusCode: Int) -> Bool {
        guard last == nil || (last == 401 && statusCode == 403) else { return false }
        last = statusCode
        return true
    }
}

/// What the transport reports of one request while it runs.
package protocol RequestActivity: AnyObject, Sendable {
    /// An exchange begins, for an attempt that is counted from 1.
    func requestDidStart(attempt: Int)
    /// Bytes of the body have left; the total, if it is known.
    func requestDidSend(bytes: Int64, of total: Int64?)
    /// Bytes of the response's body have come; the total, if it is known.
    func requestDidReceive(bytes: Int64, of total: Int64?)
}

/// What a request's result is kept as.
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
