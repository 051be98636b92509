import NessHTTP
import NessTesting

extension RequestSummary {
    /// The stage of the request.
    enum State: String {
        case running, paused, succeeded, failed, dropped
    }

    var state: State {
        guard let outcome else { return spans.contains { $0.kind == .pause && $0.end == nil } ? .paused : .running }
        return outcome.error == nil ? .succeeded : outcome.isDrop ? .dropped : .failed
    }

    /// Removes the secrets of all that the request has sent: a server may repeat a secret of one exchange in another.
    var redactor: Redactor {
        let request = record.request.value
        return Redactor(request.secrets, sentBy: [request] + exchanges.map(\.exchange.request))
    }

    /// Returns the summary as the page reads it.
    func json(_ redactor: Redactor) -> JSONValue {
        let request = record.request.value
        let url = redactor.redacted((record.sent ?? request).url)
        let response = outcome?.response
        return [
            "id": JSONValue(record.number), "method": .string(request.method.rawValue), "url": .string(url),
            "host": .string(Self.host(of: url)), "path": .string(Self.path(of: url)), "tags": request.tags.json,
            "start": record.start.json, "end": record.end.json, "state": .string(state.rawValue),
            "status": JSONValue(response?.statusCode), "source": JSONValue(response.map { "\($0.source)" }),
            "error": JSONValue(outcome?.error), "attempts": JSONValue(attempts), "bytesSent": JSONValue(metrics?.bytesSent ?? 0),
            "bytesReceived": JSONValue(metrics?.bytesReceived ?? 0), "spans": .array(spans.map(\.json)),
            "exchanges": .array(exchanges.map { $0.json(redactor) }),
        ]
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
    fileprivate func json(_ redactor: Redactor) -> JSONValue {
        let request = exchange.request
        return [
            "id": JSONValue(exchange.id), "isJoined": .bool(exchange.isJoined), "attempt": JSONValue(attempt),
            "method": .string(request.method.rawValue), "url": .string(redactor.redacted(request.url)), "start": start.json,
            "head": head.json, "end": end.json, "status": JSONValue(response?.statusCode), "error": JSONValue(outcome?.error),
            "connection": outcome?.response?.connection?.json ?? .null,
        ]
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
        if let route { shown["route"] = route }
        if let requestID { shown["requestID"] = requestID }
        return .object(shown.mapValues(JSONValue.string))
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
