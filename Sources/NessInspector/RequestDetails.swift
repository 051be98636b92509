import Foundation
import NessHTTP
import NessTesting

private let tooLong = "too long to keep"
private let unsearchable = "cannot be searched for secrets"

extension RequestSummary {
    /// Returns the details of the request, as the page reads them.
    func details() -> JSONValue {
        let redactor = redactor
        let request = record.request
        let shown = exchanges.map { exchange -> JSONValue in
            let sent = exchange.exchange.request
            return [
                "id": JSONValue(exchange.exchange.id), "request": sent.message(redactor, removedLength: exchange.removedLength),
                "curl": .string(sent.curlCommand),
                "response": exchange.response?.message(redactor, removedLength: exchange.outcome?.removedLength) ?? .null,
                "error": JSONValue(exchange.outcome?.description),
            ]
        }
        return [
            "summary": json(redactor), "request": request.value.message(redactor, removedLength: request.removedLength),
            "curl": .string(request.value.curlCommand),
            "response": outcome?.response?.message(redactor, removedLength: outcome?.removedLength) ?? .null,
            "error": JSONValue(outcome?.description),
            "warnings": .array(warnings.map(JSONValue.string)),
            "waits": .object([String: JSONValue](uniqueKeysWithValues: (metrics?.waits ?? [:]).map { ($0.rawValue, $1.json) })),
            "exchanges": .array(shown),
        ]
    }
}

extension HTTPRequest {
    fileprivate func message(_ redactor: Redactor, removedLength: Int64?) -> JSONValue {
        var content = recordedBody(by: redactor)
        if removedLength != nil { content?.text = nil }
        let reason =
            removedLength != nil
            ? tooLong
            : body?.data == nil ? "not in memory" : unsearchable
        return .message(
            method: method.rawValue, url: redactor.redacted(url), status: nil, headers: redactor.recorded(sentHeaders),
            body: content?.json(size: removedLength ?? body?.length, omitted: reason) ?? .null)
    }
}

extension HTTPResponse {
    fileprivate func message(_ redactor: Redactor, removedLength: Int?) -> JSONValue {
        let recorded = HTTPArchive.Response(self, isKept: removedLength == nil && file == nil, by: redactor)
        let reason = file != nil ? "saved to a file" : removedLength != nil ? tooLong : unsearchable
        return .message(
            method: nil, url: redactor.redacted(request.url), status: statusCode, headers: recorded.headers,
            body: recorded.body.json(size: file == nil ? Int64(removedLength ?? body.count) : nil, omitted: reason))
    }
}

extension HTTPArchive.Content {
    fileprivate func json(size: Int64?, omitted reason: String) -> JSONValue {
        [
            "mimeType": .string(mimeType), "size": size.map { JSONValue($0) } ?? .null, "text": JSONValue(text),
            "isBase64": .bool(isBase64), "omitted": JSONValue(text == nil ? reason : nil),
        ]
    }
}

extension JSONValue {
    fileprivate static func message(
        method: String?, url: String, status: Int?, headers: [HTTPArchive.Pair], body: JSONValue
    ) -> JSONValue {
        let fields = headers.map { JSONValue.object(["name": .string($0.name), "value": .string($0.value)]) }
        return [
            "method": JSONValue(method), "url": .string(url), "status": JSONValue(status), "headers": .array(fields), "body": body,
        ]
    }
}
