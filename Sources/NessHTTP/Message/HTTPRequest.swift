import Foundation

/// A request as it passes through the pipeline: what a loader, a delegate or an observer sees and may change.
///
/// Nothing is checked when it is made. Just before it is sent, what could inject a line or what no transport can send is refused
/// with `NessError.invalidRequest`.
public struct HTTPRequest: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// The target. Relative until the pipeline has resolved it against the manager's base URL.
    public var url: URL
    /// The header fields, in the order in which they are sent.
    public var headers: HTTPHeaders
    /// The content, if there is any.
    public var body: HTTPBody?
    /// The longest time without a byte in either direction. Queueing does not count.
    public var timeout: Duration
    /// The longest time for the whole, with its retries and waits; nil for none.
    public var deadline: Duration?
    /// Which header fields, and which parameters of queries, forms and JSON, are secret: never shown, nor sent to another origin.
    public var secrets: SecretNames

    /// What to do with redirects.
    public var redirects = RedirectPolicy.follow()
    /// Whether a redirect may lead from https to http.
    public var allowsInsecureRedirects = false

    /// The request's kind: only requests of one kind can be duplicates.
    package var kind = RequestKind.data
    /// The names of the groups it belongs to: see `Ness.dropAllRequests(in:)`.
    package var groups: Set<String> = []
    /// What the caller wants of the response.
    package var validators: [any ResponseValidator] = []
    /// What decodes the response's JSON, unless something else is given.
    package var jsonDecoder: JSONDecoder?
    /// What decides on further attempts, instead of the manager's.
    package var retryControl: (any RetryControl)?
    /// What authenticates this request, instead of what the manager has for its base URL.
    package var authentication: AuthenticationChoice = .inherited
    /// Where a credential that the manager added may go; nil where it added none.
    package var credentialScope: URL?
    /// What an `Authentication` notes of the credential it gave.
    package var authenticationMark: Int?
    /// Whether an `Authentication` answers a 401 to this request.
    package var isAuthenticated = false
    /// Where it began; nil for one that a loader made.
    var environment: ServerEnvironment?
    /// What the caller set for loaders of its own.
    var options = RequestOptions()
    /// How many resets the manager had seen when the request was made; nil for one that a loader made.
    package var epoch: Int?
    /// Counts the attempts at this request, from 1.
    package var attempt = 1
    /// Where a download's file goes; nil for what is no download.
    package var download: DownloadTarget?
    /// Takes the response's body as it comes; nil has it collected.
    package var sink: (any BodySink)?
    /// What an exchange needs to be allowed.
    package var place: ExchangePlace?
    /// Tells the observers of this request, if there are any.
    var observation: Observation?
    /// Makes of the response what the caller wants, so that observers hear of a failure in it.
    var parse: (@Sendable (HTTPResponse) throws -> Void)?
    /// Hears what the transport does for this request.
    package var activity: RequestActivity?

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
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.deadline = deadline
        secrets = SecretNames()
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
