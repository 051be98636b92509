import NessHTTP

/// The values that OpenTelemetry's semantic conventions define for HTTP clients (version 1.27, stable).
package enum Conventions {
    /// The value of `http.request.method`. Any method but those of RFC 9110 and RFC 5789 counts as `_OTHER`, so that a metric has a bounded
    /// number of series.
    package static func method(_ method: HTTPMethod) -> String {
        switch method.rawValue {
        case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE": method.rawValue
        default: "_OTHER"
        }
    }

    /// The value of `server.port`: that of the URL, or that of its scheme.
    package static func port(of request: HTTPRequest) -> Int { request.url.port ?? (request.url.scheme == "http" ? 80 : 443) }

    /// The value of `error.type`: the status of an error, or the kind of a failure; `nil` for a success.
    package static func errorType(of outcome: Result<HTTPResponse, any Error>) -> String? {
        switch outcome {
        case .success(let response): response.statusCode >= 400 ? "\(response.statusCode)" : nil
        case .failure(let error):
            switch error {
            case let error as NessError:
                error.kind == .validation ? error.response.map { "\($0.statusCode)" } ?? error.kind.rawValue : error.kind.rawValue
            case is CancellationError: NessError.Kind.dropped.rawValue
            default: "\(type(of: error))"
            }
        }
    }

    /// The value of `error.type` for a failed attempt: the kind of its error, or the status of its response.
    package static func errorType(of attempt: FailedAttempt) -> String? {
        attempt.error.flatMap { errorType(of: .failure($0)) } ?? attempt.response.map { "\($0.statusCode)" }
    }

    /// The response of an outcome: of a failure, the response that was rejected.
    package static func response(of outcome: Result<HTTPResponse, any Error>) -> HTTPResponse? {
        switch outcome {
        case .success(let response): response
        case .failure(let error): (error as? NessError)?.response
        }
    }

    /// The value of `network.protocol.version`; `nil` if the transport does not report it.
    package static func protocolVersion(of connection: ConnectionMetrics?) -> String? {
        connection?.httpVersion.map { version in
            switch version {
            case .http1_0: "1.0"
            case .http1_1: "1.1"
            case .http2: "2"
            case .http3: "3"
            }
        }
    }
}
