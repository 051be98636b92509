import Foundation

/// Logs the requests of a manager, without secrets: see `Ness.Configuration.secretNames`.
///
/// ```swift
/// let ness = Ness { $0.observers = [RequestLogger { print($0) }] }
/// // In one line: GET https://api.example.com/users?token=<redacted> → 200
/// // (1 attempt, 0.120 s, 0 bytes sent, 512 received)
/// ```
///
/// Each entry has a level, which a logging library can take over:
///
/// ```swift
/// let leveled = RequestLogger(.full, from: .warning) { level, text in
///     log(level, text)
/// }
/// ```
public struct RequestLogger: RequestObserver {
    /// The amount of detail.
    public enum Style: Sendable, Hashable {
        /// One line for each request, at its end, and one line for each retry.
        case line
        /// Each attempt and each response with header and the start of the body, in addition to `line`.
        case full
        /// Each attempt as a `curl` command without credentials, in addition to `line`.
        case curl
    }

    /// The importance of an entry.
    public enum Level: Int, Sendable, Hashable, CaseIterable {
        /// An attempt, or a response.
        case debug
        /// The end of a request with a response that its validators accept, or by a drop.
        case info
        /// A failed attempt that is followed by another, or a warning.
        case warning
        /// The end of a request with an error.
        case error
    }

    private let style: Style
    private let lowest: Level
    private let bodyLimit: Int
    private let log: @Sendable (Level, String, HTTPRequest) -> Void

    /// Makes a logger.
    /// - Parameters:
    ///   - style: The amount of detail.
    ///   - level: The lowest level of the entries that are logged.
    ///   - bodyLimit: The number of characters of a body that the style `.full` shows; 0 for no bodies.
    ///   - log: Receives one entry: one line, or several in the style `.full`. Runs off the main thread, for several requests at the same
    ///     time.
    public init(_ style: Style = .line, from level: Level = .debug, bodyLimit: Int = 4_096, log: @escaping @Sendable (String) -> Void) {
        self.init(style, from: level, bodyLimit: bodyLimit) { _, text, _ in log(text) }
    }

    /// Makes a logger whose closure gets the level of each entry.
    /// - Parameters:
    ///   - style: The amount of detail.
    ///   - level: The lowest level of the entries that are logged.
    ///   - bodyLimit: The number of characters of a body that the style `.full` shows; 0 for no bodies.
    ///   - log: Receives the level and the text of one entry: one line, or several in the style `.full`. Runs off the main thread, for
    ///     several requests at the same time.
    public init(
        _ style: Style = .line, from level: Level = .debug, bodyLimit: Int = 4_096, log: @escaping @Sendable (Level, String) -> Void
    ) {
        self.init(style, from: level, bodyLimit: bodyLimit) { level, text, _ in log(level, text) }
    }

    /// Makes a logger whose closure gets the level and the request of each entry, for example to add the request's tags.
    ///
    /// ```swift
    /// let traced = RequestLogger { level, text, request in
    ///     let id = request.tags.requestID ?? "none"
    ///     log(level, "\(text) request=\(id)")
    /// }
    /// ```
    /// - Parameters:
    ///   - style: The amount of detail.
    ///   - level: The lowest level of the entries that are logged.
    ///   - bodyLimit: The number of characters of a body that the style `.full` shows; 0 for no bodies.
    ///   - log: Receives the level and the text of one entry, and the request that it is about, with its options. The text and the
    ///     description of the request contain no secrets; its URL, header fields and body may. Runs off the main thread, for several
    ///     requests at the same time.
    public init(
        _ style: Style = .line, from level: Level = .debug, bodyLimit: Int = 4_096,
        log: @escaping @Sendable (Level, String, HTTPRequest) -> Void
    ) {
        (self.style, lowest, self.log) = (style, level, log)
        self.bodyLimit = min(max(0, bodyLimit), .max / 4)
    }

    private func add(_ level: Level, about request: HTTPRequest, _ text: @autoclosure () -> String) {
        if level.rawValue >= lowest.rawValue { log(level, text(), request) }
    }

    /// Logs the warning, in every style.
    public func requestDidWarn(_ warning: String, about request: HTTPRequest) {
        add(.warning, about: request, "\(request): warning: \(warning)")
    }

    /// Logs the attempt.
    public func requestWillSend(_ request: HTTPRequest) {
        switch style {
        case .line: break
        case .curl: add(.debug, about: request, request.curlCommand)
        case .full:
            let body = request.body
            add(.debug, about: request, message("\(request)", request.sentHeaders, body ?? HTTPBody(Data()), request.redactor))
        }
    }

    /// Logs the response, in the style `.full` only.
    public func requestDidReceive(_ response: HTTPResponse, to request: HTTPRequest) {
        guard style == .full else { return }
        let title = "\(response.request) \u{2192} \(response.statusCode)"
        add(.debug, about: request, message(title, response.headers, HTTPBody(response.body), response.redactor))
    }

    /// Logs the failure, and the number and the delay of the next attempt, in every style.
    public func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt) {
        let failure = attempt.error.map { Self.describe($0, request) } ?? "\(request) \u{2192} \(attempt.response?.statusCode ?? 0)"
        add(.warning, about: request, "\(failure); attempt \(attempt.number + 1) follows after \(Self.seconds(delay))")
    }

    /// Logs the outcome.
    public func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) {
        let end: String
        let level: Level
        switch metrics.outcome {
        case .success(let response):
            (end, level) = ("\(request) \u{2192} \(response.statusCode)\(Self.origin(of: response))", .info)
        case .failure(let error):
            (end, level) = (Self.describe(error, request), (error as? NessError)?.kind == .dropped ? .info : .error)
        }
        let attempts = "\(metrics.attempts) attempt\(metrics.attempts == 1 ? "" : "s")"
        let bytes = "\(metrics.bytesSent) bytes sent, \(metrics.bytesReceived) received"
        add(level, about: request, "\(end) (\(attempts), \(Self.seconds(metrics.total)), \(bytes))")
    }

    private func message(_ title: String, _ headers: HTTPHeaders, _ body: HTTPBody, _ redactor: Redactor) -> String {
        var lines = [title]
        lines += headers.map(redactor.redactedLine)
        guard body.length != 0 else { return lines.joined(separator: "\n") }
        let start =
            bodyLimit == 0
            ? nil : body.data.flatMap { redactor.excerpt(of: $0, contentType: headers[HeaderName.contentType], limit: 4 * bodyLimit) }
        let shown = start.map { start in
            guard start.kind == .shown else { return start.text }
            // Each line is escaped on its own, so that no control character remains.
            let lines = start.text.prefix(bodyLimit).split(omittingEmptySubsequences: false) { $0.isNewline }
            return lines.map { String($0).oneLine }.joined(separator: "\n")
                + (start.isCut || start.text.count > bodyLimit ? "\u{2026}" : "")
        }
        return (lines + ["", shown ?? "(\(body.length.map { "\($0)" } ?? "some") bytes)"]).joined(separator: "\n")
    }

    /// Names the origin of a response, unless the server sent it.
    private static func origin(of response: HTTPResponse) -> String {
        switch response.source {
        case .network: ""
        case .cache: " from the cache"
        case .stale: " from the cache, stale"
        case .revalidated: " from the cache, confirmed"
        }
    }

    /// Describes a `NessError` in its own words. Of any other error only the type is shown, because its text may contain secrets.
    private static func describe(_ error: any Error, _ request: HTTPRequest) -> String {
        (error as? NessError)?.description ?? "\(request): \(type(of: error))"
    }

    private static func seconds(_ duration: Duration) -> String { String(format: "%.3f s", duration / .seconds(1)) }
}
