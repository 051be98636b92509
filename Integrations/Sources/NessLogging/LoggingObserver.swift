import Logging
import NessConventions
import NessHTTP

extension Ness.Configuration {
    /// Logs the requests of the manager, without secrets.
    ///
    /// ```swift
    /// let ness = Ness {
    ///     $0.log(to: Logger(label: "http"))
    /// }
    /// ```
    /// - Parameter logger: The receiver of the entries: see `LoggingObserver`.
    public mutating func log(to logger: Logger) { observers.append(LoggingObserver(logger)) }
}

/// Logs the requests of a manager to a `Logger` of swift-log, without secrets.
///
/// | entry | level | metadata besides `ness.request`, method and URL |
/// |---|---|---|
/// | `sends` | debug | |
/// | `received` | debug | `http.response.status_code` |
/// | `retries` | warning | `attempt`, `delay`, `error.type` |
/// | a warning of Ness | warning | |
/// | `succeeded` | info | `http.response.status_code`, `source`, `attempts`, `duration`, `bytes.sent`, `bytes.received` |
/// | `failed`, or `dropped` by the caller | error, or info | `error.type`, `error`, and those of `succeeded` |
///
/// `circuit breaker`, at the level warning if it opens, else info, belongs to no request: its metadata are `circuit_breaker.state`, and
/// `circuit_breaker.origin` or `circuit_breaker.group`.
///
/// Durations are in seconds. `RequestTags` add `request.id`, `url.template` and their values under their names. The metadata of the
/// logger's provider, such as the identifiers of a trace, are those of the caller.
///
/// The methods run off the main thread, and so does the log handler.
public struct LoggingObserver: RequestObserver {
    private let logger: Logger
    /// The provider of the logger. It is called in the caller's task only: the task that makes an entry may be another caller's.
    private let provider: Logger.MetadataProvider?
    /// The metadata that the provider gives for the caller of each request.
    private let providedMetadata = RequestTable<Logger.Metadata>()

    /// Makes an observer.
    /// - Parameter logger: The receiver of the entries.
    public init(_ logger: Logger) {
        var logger = logger
        provider = logger.metadataProvider
        logger.handler.metadataProvider = nil
        self.logger = logger
    }

    /// Keeps the metadata that the logger's provider gives in the caller's task.
    public func requestDidStart(_ request: HTTPRequest) {
        if let metadata = provider?.get(), !metadata.isEmpty { providedMetadata[request.id] = metadata }
    }

    /// Logs the warning.
    public func requestDidWarn(_ warning: String, about request: HTTPRequest) { log(.warning, warning, of: request) }

    /// Logs the attempt.
    public func requestWillSend(_ request: HTTPRequest) { log(.debug, "sends", of: request) }

    /// Logs the status of the response.
    public func requestDidReceive(_ response: HTTPResponse, to request: HTTPRequest) {
        log(.debug, "received", of: request, ["http.response.status_code": "\(response.statusCode)"])
    }

    /// Logs the failure, and the delay of the next attempt.
    public func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt) {
        var metadata: Logger.Metadata = ["attempt": "\(attempt.number)", "delay": "\(delay / .seconds(1))"]
        metadata["error.type"] = Conventions.errorType(of: attempt).map { "\($0)" }
        log(.warning, "retries", of: request, metadata)
    }

    /// Logs the outcome.
    public func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) {
        guard case .failure(let error) = metrics.outcome else { return log(.info, "succeeded", of: request, Self.metadata(of: metrics)) }
        let isDropped = (error as? NessError)?.kind == .dropped
        log(isDropped ? .info : .error, isDropped ? "dropped" : "failed", of: request, Self.metadata(of: metrics))
    }

    private static func metadata(of metrics: RequestMetrics) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "attempts": "\(metrics.attempts)", "duration": "\(metrics.total / .seconds(1))", "bytes.sent": "\(metrics.bytesSent)",
            "bytes.received": "\(metrics.bytesReceived)",
        ]
        if let response = Conventions.response(of: metrics.outcome) {
            metadata["http.response.status_code"] = "\(response.statusCode)"
            metadata["source"] = "\(response.source)"
        }
        if case .failure(let error) = metrics.outcome {
            metadata["error.type"] = Conventions.errorType(of: metrics.outcome).map { "\($0)" }
            // The description of a `NessError` has no secrets. That of another error may.
            metadata["error"] = (error as? NessError).map { "\($0)" }
        }
        return metadata
    }

    /// Logs the state of the breaker.
    public func circuitBreakerDidChange(_ change: CircuitBreakerChange) {
        var metadata: Logger.Metadata = ["circuit_breaker.state": "\(change.new.rawValue)"]
        metadata["circuit_breaker.origin"] = change.origin.map { "\($0)" }
        metadata["circuit_breaker.group"] = change.group.map { "\($0)" }
        logger.log(level: change.new == .open ? .warning : .info, "circuit breaker", metadata: metadata, source: "NessHTTP")
    }

    /// Forgets the request.
    public func requestDidEnd(_ request: HTTPRequest) { _ = providedMetadata.remove(request.id) }

    private func log(
        _ level: Logger.Level, _ message: String, of request: HTTPRequest, _ metadata: @autoclosure () -> Logger.Metadata = [:]
    ) {
        guard logger.logLevel <= level else { return }
        let tags = request.tags
        var all = providedMetadata[request.id] ?? [:]
        for (name, value) in tags.values { all[name] = "\(value)" }
        all["ness.request"] = "\(request.id)"
        all["http.request.method"] = "\(request.method)"
        all["url.full"] = "\(request.redactedURL)"
        if let id = tags.requestID { all["request.id"] = "\(id)" }
        if let route = tags.route { all["url.template"] = "\(route)" }
        all.merge(metadata()) { $1 }
        logger.log(level: level, "\(message)", metadata: all, source: "NessHTTP")
    }
}
