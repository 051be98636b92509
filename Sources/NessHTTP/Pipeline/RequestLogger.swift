import Foundation

/// Logs the requests of a manager, without secrets: see `SecretNames`.
///
/// ```swift
/// let ness = Ness { $0.observers = [RequestLogger { print($0) }] }
/// // GET https://api.example.com/users?token=<redacted> → 200 (1 attempt, 0.120 s, 0 bytes sent, 512 received)
/// ```
public struct RequestLogger: RequestObserver {
    /// The amount of detail.
    public enum Style: Sendable, Hashable {
        /// One line for each request, at its end.
        case line
        /// Each attempt and each response with header and the first 4,096 characters of the body, and the line at the end.
        case full
        /// Each attempt as a `curl` command without credentials, and the line at the end.
        case curl
    }

    private let style: Style
    private let log: @Sendable (String) -> Void

    /// Makes a logger.
    /// - Parameters:
    ///   - style: The amount of detail.
    ///   - log: Receives one entry: one line, or several in the style `.full`. Runs off the main thread, for several requests at once.
    public init(_ style: Style = .line, log: @escaping @Sendable (String) -> Void) {
        self.style = style
        self.log = log
    }

    /// Logs the warning, in every style.
    public func requestDidWarn(_ warning: String, about request: HTTPRequest) { log("\(request): warning: \(warning)") }

    /// Logs the attempt.
    public func requestWillSend(_ request: HTTPRequest) {
        switch style {
        case .line: break
        case .curl: log(request.curlCommand)
        case .full:
            let body = request.body
            let headers = (body?.headers ?? [:]).merging(request.headers)
            log(message("\(request)", headers, body ?? HTTPBody(Data()), request.secrets))
        }
    }

    /// Logs the response, in the style `.full` only.
    public func requestDidReceive(_ response: HTTPResponse, to request: HTTPRequest) {
        guard style == .full else { return }
        log(message("\(response.request) \u{2192} \(response.statusCode)", response.headers, HTTPBody(response.body), request.secrets))
    }

    /// Logs the failure and the delay of the next attempt.
    public func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt) {
        guard style != .line else { return }
        let failure = attempt.error.map { Self.describe($0, request) } ?? "\(request) \u{2192} \(attempt.response?.statusCode ?? 0)"
        log("\(failure); attempt \(attempt.number + 1) follows after \(Self.seconds(delay))")
    }

    /// Logs the outcome.
    public func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) {
        let end: String
        switch metrics.outcome {
        case .success(let response): end = "\(request) \u{2192} \(response.statusCode)"
        case .failure(let error): end = Self.describe(error, request)
        }
        let attempts = "\(metrics.attempts) attempt\(metrics.attempts == 1 ? "" : "s")"
        log("\(end) (\(attempts), \(Self.seconds(metrics.total)), \(metrics.bytesSent) bytes sent, \(metrics.bytesReceived) received)")
    }

    private func message(_ title: String, _ headers: HTTPHeaders, _ body: HTTPBody, _ secrets: SecretNames) -> String {
        var lines = [title]
        lines += headers.map { "\($0.name): \(secrets.redacted($0))".oneLine }
        guard body.length != 0 else { return lines.joined(separator: "\n") }
        let start = body.data.flatMap { secrets.start(of: $0, contentType: headers[HeaderName.contentType], limit: 1 << 14) }
        let shown = start.map { start in
            // Each line is escaped on its own, so that no control character remains.
            let lines = start.text.prefix(4_096).split(omittingEmptySubsequences: false) { $0.isNewline }
            return lines.map { String($0).oneLine }.joined(separator: "\n") + (start.isCut || start.text.count > 4_096 ? "\u{2026}" : "")
        }
        return (lines + ["", shown ?? "(\(body.length.map { "\($0)" } ?? "some") bytes)"]).joined(separator: "\n")
    }

    /// Describes a `NessError` in its own words. Of any other error only the type is shown, because its text may contain secrets.
    private static func describe(_ error: any Error, _ request: HTTPRequest) -> String {
        (error as? NessError)?.description ?? "\(request): \(type(of: error))"
    }

    private static func seconds(_ duration: Duration) -> String {
        let milliseconds = Int64((duration / .milliseconds(1)).rounded())
        return "\(milliseconds / 1_000).\(String(1_000 + milliseconds % 1_000).dropFirst()) s"
    }
}
