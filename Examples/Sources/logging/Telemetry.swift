import NessHTTP

/// Feeds logs and metrics with the events of a manager's requests.
///
/// With swift-log, `log` calls `logger.log(level:_:metadata:)`. With swift-metrics, `count` calls `Counter(label:dimensions:).increment()`
/// and `record` calls `Timer(label:dimensions:).recordNanoseconds(_:)`.
///
/// A description of a request or an error has no secrets. `request.url` and `response.body` may have some, so neither is logged.
struct Telemetry: RequestObserver {
    enum Level: String { case info, warning, error }
    let log: @Sendable (Level, _ message: String, _ metadata: [(String, String)]) -> Void
    let count: @Sendable (_ label: String, _ dimensions: [(String, String)]) -> Void
    let record: @Sendable (_ label: String, _ dimensions: [(String, String)], Duration) -> Void

    func requestDidWarn(_ warning: String, about request: HTTPRequest) { log(.warning, warning, metadata(of: request)) }

    func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt) {
        let reason = attempt.error.map { "\($0)" } ?? attempt.response.map { "status \($0.statusCode)" } ?? "no response"
        log(.warning, "retries \(request) after \(delay): \(reason)", metadata(of: request))
        count("http_client_retries_total", [("method", request.method.rawValue)])
    }

    func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) {
        let fields = metadata(of: request) + [("attempts", "\(metrics.attempts)"), ("seconds", "\(metrics.total / .seconds(1))")]
        // Few values for each dimension: no URL, which would make a time series for each user and page.
        var dimensions = [("method", request.method.rawValue)]
        switch metrics.outcome {
        case .success(let response):
            dimensions.append(("status", "\(response.statusCode)"))
            log(response.statusCode < 500 ? .info : .error, "\(request)", fields + [("status", "\(response.statusCode)")])
        case .failure(let error):
            dimensions.append(("error", (error as? NessError)?.kind.rawValue ?? "other"))
            log(.error, "\(error)", fields)
        }
        count("http_client_requests_total", dimensions)
        record("http_client_request_duration_seconds", dimensions, metrics.total)
    }

    private func metadata(of request: HTTPRequest) -> [(String, String)] {
        [("request", "\(request.id)")] + (request[Trace.self].map { [("trace", $0.id)] } ?? [])
    }
}
