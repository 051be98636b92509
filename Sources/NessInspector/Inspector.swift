import Foundation
import NessHTTP
import NessTesting

/// Shows the requests of a manager live, on a page in the browser. For development, not for a product.
///
/// ```swift
/// #if DEBUG
/// // Prints http://127.0.0.1:53412/?token=…
/// let inspector = try await Inspector.start()
/// let ness = Ness { $0.observers = [inspector] }
/// #endif
/// ```
///
/// The page shows each request on a time line: its waits in queues, its exchanges, retries and refreshes. It marks the callers who share an
/// exchange. It needs no network, and exports what it shows as a HAR file.
///
/// **Secrets** are removed as in a log: see `Ness.Configuration.secretNames`. Bodies are shown up to `Limits.maximumBodyBytes`.
///
/// **Access.** The page is served on 127.0.0.1 only, and needs the token in its address. Another site can neither read the page, even
/// with a name that leads to 127.0.0.1, nor embed it.
///
/// **Cost.** The inspector keeps the values that observers receive, so a body lives longer, within the limits. It serves several managers,
/// and stops with `stop()` or with its last reference, which may be a manager's.
public final class Inspector: RequestObserver {
    /// The limits of what an inspector keeps.
    public struct Limits: Sendable, Hashable {
        /// The number of ended requests that are kept. Running requests are always kept.
        public var maximumRequests: Int
        /// The number of bytes of bodies that are kept. Beyond it, the oldest ended requests are forgotten. The responses of a
        /// single request take at most an eighth of it.
        public var maximumBytes: Int
        /// The number of bytes up to which a body is kept; 0 for no bodies. The first 64 KiB of a longer body of a request stay in memory,
        /// unseen, because secrets in it may be repeated elsewhere.
        public var maximumBodyBytes: Int

        /// Makes limits.
        /// - Parameters:
        ///   - maximumRequests: The number of ended requests that are kept.
        ///   - maximumBytes: The number of bytes of bodies that are kept.
        ///   - maximumBodyBytes: The number of bytes up to which a body is kept; 0 for no bodies.
        public init(maximumRequests: Int = 1_000, maximumBytes: Int = 64 << 20, maximumBodyBytes: Int = 1 << 20) {
            (self.maximumRequests, self.maximumBytes, self.maximumBodyBytes) = (maximumRequests, maximumBytes, maximumBodyBytes)
        }
    }

    /// The address of the page, with its token, which is all that the page needs.
    public let url: URL
    let records: RequestRecords
    private let server: TestServer

    private init(url: URL, records: RequestRecords, server: TestServer) {
        (self.url, self.records, self.server) = (url, records, server)
    }

    /// Starts an inspector.
    /// - Parameters:
    ///   - port: The port of 127.0.0.1, or 0 for a free one.
    ///   - limits: The limits of what it keeps.
    ///   - announce: Receives a line with the page's address. By default it goes to the standard output. Runs in the calling task.
    /// - Returns: The inspector, whose page can be opened.
    /// - Throws: `TestServerError` if the port is taken, or the process has no descriptors or threads left.
    public static func start(
        port: UInt16 = 0, limits: Limits = Limits(),
        announcing announce: @Sendable (String) -> Void = { FileHandle.standardOutput.write(Data("\($0)\n".utf8)) }
    ) async throws -> Inspector {
        let records = RequestRecords(limits)
        let access = PageAccess()
        let pages = InspectorPages(records: records, access: access)
        let server = try TestServer(port: port, bodyLimit: 1 << 20) { pages.reply(to: $0) }
        let url = server.url.appending(path: "/").appending(queryItems: [URLQueryItem(name: "token", value: access.token)])
        announce("Ness inspector: \(url.absoluteString)")
        return Inspector(url: url, records: records, server: server)
    }

    /// Closes the page's server. Requests continue, and the inspector still keeps them.
    public func stop() async { await server.stop() }

    /// Adds the request.
    public func requestDidStart(_ request: HTTPRequest) { records.start(request) }
    /// Adds the warning.
    public func requestDidWarn(_ warning: String, about request: HTTPRequest) { records.add(.warning(warning), to: request) }
    /// Adds the start of an attempt.
    public func requestWillSend(_ request: HTTPRequest) { records.addAttempt(request) }
    /// Adds the start of a wait.
    public func requestWillWait(_ request: HTTPRequest, at place: WaitingPlace) { records.add(.wait(place), to: request) }
    /// Adds the end of a wait.
    public func requestDidWait(_ request: HTTPRequest, at place: WaitingPlace, for duration: Duration) {
        records.add(.waited(place), to: request)
    }
    /// Adds the start of a refresh.
    public func requestWillRefresh(_ request: HTTPRequest) { records.add(.refresh, to: request) }
    /// Adds the start of an exchange.
    public func requestDidBeginExchange(_ exchange: RequestExchange, of request: HTTPRequest) { records.add(.begin(exchange), to: request) }
    /// Adds the wait for a network.
    public func requestIsWaitingForNetwork(_ request: HTTPRequest) { records.add(.network, to: request) }
    /// Adds the time of the head.
    public func requestDidReceiveHead(_ head: HTTPResponse, in exchange: RequestExchange, of request: HTTPRequest) {
        var head = head
        // The request is kept with its exchange.
        if head.request.body != nil { head.request.body = nil }
        records.add(.head(head, exchange: exchange.id), to: request)
    }
    /// Adds the end of an exchange, with its response.
    public func requestDidEndExchange(_ exchange: RequestExchange, with outcome: Result<HTTPResponse, any Error>, of request: HTTPRequest) {
        records.add(.end(exchange: exchange.id, Outcome(outcome)), to: request)
    }
    /// Adds the start of the validation and the decoding.
    public func requestDidReceive(_ response: HTTPResponse, to request: HTTPRequest) { records.add(.receive, to: request) }
    /// Adds the pause before the next attempt, with its reason.
    public func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt) {
        records.add(.retry(reason: attempt.reason(for: delay)), to: request)
    }
    /// Adds the start of a pause.
    public func requestDidPause(_ request: HTTPRequest) { records.add(.pause, to: request) }
    /// Adds the end of a pause.
    public func requestDidResume(_ request: HTTPRequest) { records.add(.resume, to: request) }
    /// Adds the outcome.
    public func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) {
        // The outcome is kept beside them, without a body that is too long.
        var rest = metrics
        rest.outcome = .failure(CancellationError())
        records.add(.outcome(Outcome(metrics.outcome), rest), to: request)
    }
    /// Ends the request. The oldest requests are forgotten if there are too many.
    public func requestDidEnd(_ request: HTTPRequest) { records.end(request) }
}
