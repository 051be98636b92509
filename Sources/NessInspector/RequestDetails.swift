import Foundation
import NessHTTP
import NessTesting

extension RequestSummary {
    /// All that is known of a request, as the page reads it. Secrets are removed here.
    func details(bodyLimit: Int) -> JSONValue {
        let shown = exchanges.map { exchange -> JSONValue in
            let request = exchange.exchange.request
            return [
                "id": JSONValue(exchange.exchange.id), "request": request.message, "curl": .string(request.curlCommand),
                "response": exchange.outcome?.response?.message(record.omitted[exchange.exchange.id], bodyLimit) ?? .null,
                "error": JSONValue(exchange.error),
            ]
        }
        var error: String?
        if case .failure(let failure) = metrics?.outcome { error = failure.shown(for: record.request) }
        return [
            "summary": json, "request": record.request.message, "curl": .string(record.request.curlCommand),
            "response": response?.message(record.omitted[0], bodyLimit) ?? .null, "error": JSONValue(error),
            "warnings": .array(warnings.map(JSONValue.string)),
            "waits": .object([String: JSONValue](uniqueKeysWithValues: (metrics?.waits ?? [:]).map { ($0.rawValue, $1.json) })),
            "exchanges": .array(shown),
        ]
    }
}

extension HTTPRequest {
    fileprivate var message: JSONValue {
        .message(
            method: method.rawValue, url: redactedURL, status: nil, headers: redactor.recorded(sentHeaders),
            body: recordedBody()?.json(size: body?.length, omitted: nil) ?? .null)
    }
}

extension HTTPResponse {
    /// Returns the response as the page reads it.
    /// - Parameters:
    ///   - size: The size of the body, if it was too long to keep.
    ///   - limit: The longest body that is kept, in bytes.
    fileprivate func message(_ size: Int?, _ limit: Int) -> JSONValue {
        let redactor = redactor
        let content = redactor.recorded(size == nil ? body : nil, contentType: headers["content-type"])
        let omitted = size == nil ? nil : limit == 0 ? "bodies are not kept" : "longer than \(limit) bytes"
        return .message(
            method: nil, url: request.redactedURL, status: statusCode, headers: redactor.recorded(headers),
            body: content.json(size: Int64(size ?? body.count), omitted: omitted))
    }
}

extension HTTPArchive.Content {
    fileprivate func json(size: Int64?, omitted: String?) -> JSONValue {
        let reason = omitted ?? (text == nil ? "not shown, because a secret in it could not be found" : nil)
        return [
            "mimeType": .string(mimeType), "size": size.map { JSONValue($0) } ?? .null, "text": JSONValue(text),
            "isBase64": .bool(isBase64), "omitted": JSONValue(reason),
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
