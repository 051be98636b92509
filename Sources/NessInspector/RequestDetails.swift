import Foundation
import NessHTTP
import NessTesting

private let tooLong = "too long to keep"
private let unsearchable = "cannot be searched for secrets"

extension RequestSummary {
    /// Returns the details of the request, as the page reads them.
    func details() -> JSONValue {
        let redactor = redactor
        let shown = exchanges.map { exchange -> JSONValue in
            [
                "request": exchange.request.message(redactor),
                "curl": .string(redactor.masked(exchange.request.curlCommand)),
                "response": exchange.response?.message(redactor, removedLength: exchange.outcome?.removedLength) ?? .null,
                "error": JSONValue(exchange.outcome?.description),
            ]
        }
        return [
            "request": record.request.message(redactor),
            "curl": .string(redactor.masked(record.request.curlCommand)),
            "response": outcome?.response?.message(redactor, removedLength: outcome?.removedLength) ?? .null,
            "error": JSONValue(outcome?.description),
            "warnings": .array(warnings.map(JSONValue.string)),
            "exchanges": .array(shown),
        ]
    }
}

extension KeptRequest {
    fileprivate func message(_ redactor: Redactor) -> JSONValue {
        var content = value.recordedBody(by: redactor)
        if removedLength != nil { content?.text = nil }
        let reason = removedLength != nil ? tooLong : value.body?.data == nil ? "not in memory" : unsearchable
        return .message(
            method: value.method.rawValue, url: redactor.redacted(value.url), status: nil, headers: redactor.recorded(value.sentHeaders),
            body: content?.json(size: removedLength ?? value.body?.length, omitted: reason) ?? .null)
    }

    /// The request as a command for `curl`, without a body that was removed.
    fileprivate var curlCommand: String {
        guard let removedLength else { return value.curlCommand }
        var request = value
        request.body = nil
        return "\(request.curlCommand)  # without its body of \(removedLength) bytes"
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
