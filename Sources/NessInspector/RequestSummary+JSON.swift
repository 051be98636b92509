import NessHTTP
import NessTesting

extension RequestSummary {
    /// The summary as the page reads it.
    var json: JSONValue {
        let request = record.request
        let url = exchanges.first.map { $0.exchange.request.redactedURL } ?? request.redactedURL
        let response = response
        return [
            "id": JSONValue(record.number), "method": .string(request.method.rawValue), "url": .string(url),
            "host": .string(Self.host(of: url)), "path": .string(Self.path(of: url)), "tags": request.tags.json,
            "start": record.start.json, "end": record.end.json, "state": .string(state.rawValue),
            "status": JSONValue(response?.statusCode), "source": JSONValue(response.map { "\($0.source)" }), "error": JSONValue(errorLine),
            "attempts": JSONValue(attempts), "bytesSent": JSONValue(metrics?.bytesSent ?? 0),
            "bytesReceived": JSONValue(metrics?.bytesReceived ?? 0), "spans": .array(spans.map(\.json)),
            "exchanges": .array(exchanges.map(\.json)),
        ]
    }

    /// The stage of the request.
    enum State: String {
        case running, paused, succeeded, failed, dropped
    }

    var state: State {
        switch metrics?.outcome {
        case nil: spans.contains { $0.kind == .pause && $0.end == nil } ? .paused : .running
        case .success: .succeeded
        case .failure(let error): (error as? NessError)?.kind == .dropped ? .dropped : .failed
        }
    }

    /// The final response, or the one that the error contains.
    var response: HTTPResponse? { metrics?.outcome.response }

    private var errorLine: String? {
        guard case .failure(let error) = metrics?.outcome else { return nil }
        return error.shown(for: record.request)
    }

    /// Returns the part of a URL between the scheme and the path.
    private static func host(of url: String) -> String {
        guard let scheme = url.range(of: "://") else { return "" }
        return String(url[scheme.upperBound...].prefix { !"/?#".contains($0) })
    }

    private static func path(of url: String) -> String {
        guard let scheme = url.range(of: "://") else { return url }
        let rest = url[scheme.upperBound...].drop { !"/?#".contains($0) }
        return rest.isEmpty ? "/" : String(rest)
    }
}

extension RequestSummary.Span {
    fileprivate var json: JSONValue {
        ["kind": .string(kind.rawValue), "start": start.json, "end": end.json, "note": JSONValue(note)]
    }
}

extension RequestSummary.Exchange {
    fileprivate var json: JSONValue {
        let response = outcome?.response
        return [
            "id": JSONValue(exchange.id), "isJoined": .bool(exchange.isJoined), "attempt": JSONValue(attempt),
            "method": .string(exchange.request.method.rawValue), "url": .string(exchange.request.redactedURL), "start": start.json,
            "head": head.json, "end": end.json, "status": JSONValue(response?.statusCode), "error": JSONValue(error),
            "connection": response?.connection?.json ?? .null,
        ]
    }

    /// The error in one line; `nil` without one.
    var error: String? {
        guard case .failure(let error) = outcome else { return nil }
        return error.shown(for: exchange.request)
    }
}

extension ConnectionMetrics {
    fileprivate var json: JSONValue {
        [
            "nameLookup": nameLookup.json, "connect": connect.json, "tls": tls.json, "firstByte": firstByte.json,
            "isReused": .bool(isReused), "httpVersion": JSONValue(httpVersion?.rawValue),
            "remoteAddress": JSONValue(remoteAddress?.description), "resends": JSONValue(resendCount),
        ]
    }
}

extension RequestTags {
    fileprivate var json: JSONValue {
        var shown = values
        shown["route"] = route
        shown["requestID"] = requestID
        return .object(shown.mapValues(JSONValue.string))
    }
}

extension Result<HTTPResponse, any Error> {
    /// The response, or the one that the error contains.
    var response: HTTPResponse? {
        switch self {
        case .success(let response): response
        case .failure(let error): (error as? NessError)?.response
        }
    }
}

extension Error {
    /// The error in one line. Of a foreign error only the type is shown, because its text may contain secrets.
    func shown(for request: HTTPRequest) -> String {
        switch self {
        case let error as NessError: error.description
        case is CancellationError: "left: the request succeeded without this exchange"
        default: "\(type(of: self))"
        }
    }
}

extension JSONValue {
    /// Makes a number, or null.
    init(_ value: Int?) { self = value.map { JSONValue($0) } ?? .null }
    /// Makes a string, or null.
    init(_ value: String?) { self = value.map(JSONValue.string) ?? .null }
}

extension Duration {
    /// The duration in milliseconds, to the microsecond.
    var json: JSONValue { .number(((self / .milliseconds(1)) * 1_000).rounded() / 1_000) }
}

extension Duration? {
    var json: JSONValue { self?.json ?? .null }
}
