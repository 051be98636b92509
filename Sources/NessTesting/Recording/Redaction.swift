import Foundation
import NessHTTP

/// The conversion of an exchange to a form without secrets, for storage in a file and for comparison.
extension Redactor {
    /// Returns a URL's text without secrets. The result is still a valid URL.
    package func recorded(urlText text: String) -> String {
        redacted(urlText: text).replacing(Self.mark, with: "%3Credacted%3E")
    }

    /// Returns header fields without secrets.
    package func recorded(_ headers: HTTPHeaders) -> [HTTPArchive.Pair] {
        headers.map { field in
            // A field that holds a URL still holds one afterwards, so that a replayed redirect has a target.
            let shown = names.containsHeader(field.name) ? Self.mark : redacted(field).replacing(Self.mark, with: "%3Credacted%3E")
            return HTTPArchive.Pair(name: redactedName(field), value: shown)
        }
    }

    /// Returns a body without secrets. Its media type has no parameters, since one may be a secret. The text is `nil` for a body that is
    /// not in memory, and for one that is not shown.
    package func recorded(_ body: Data?, contentType: String?) -> HTTPArchive.Content {
        let type = redacted(text: HeaderFieldValue.withoutParameters(contentType ?? ""))
        guard let body, !Self.hasParts(body, contentType) else { return HTTPArchive.Content(mimeType: type) }
        let excerpt = excerpt(of: body, contentType: contentType, limit: body.count)
        var content = HTTPArchive.Content(mimeType: type)
        switch excerpt.kind {
        case .shown: content.text = excerpt.isCut ? nil : excerpt.text
        case .hidden: break
        case .binary:
            let text = String(decoding: body, as: UTF8.self)
            guard !holdsSecret(text, byAnyName: false), masked(text) == text else { break }
            (content.text, content.isBase64) = (body.base64EncodedString(), true)
        }
        return content
    }

    /// Returns the text by which URLs are compared. It has no secrets, no fragment and no default port. Scheme and host are in lower case,
    /// and an empty path is `/`.
    func identity(ofURL text: String) -> String {
        let shown = recorded(urlText: text)
        guard var parts = URLComponents(string: shown) else { return shown }
        parts.scheme = parts.scheme?.lowercased()
        parts.percentEncodedHost = parts.percentEncodedHost?.lowercased()
        if (parts.scheme == "http" && parts.port == 80) || (parts.scheme == "https" && parts.port == 443) { parts.port = nil }
        parts.fragment = nil
        if parts.percentEncodedPath.isEmpty { parts.percentEncodedPath = "/" }
        return parts.string ?? shown
    }
}

extension HTTPRequest {
    /// The body without secrets, with the media type that the request declares. Secrets in a compressed body can't be found, so that it is
    /// left out.
    package func recordedBody(by redactor: Redactor) -> HTTPArchive.Content? {
        guard let body else { return nil }
        let isCoded = headers.contains("content-encoding") || body.headers.contains("content-encoding")
        return redactor.recorded(isCoded ? nil : body.data, contentType: sentHeaders["content-type"])
    }
}

extension HTTPArchive.Entry {
    /// Makes an entry, without secrets.
    /// - Parameters:
    ///   - date: The start.
    ///   - time: The duration in milliseconds.
    ///   - request: The request.
    ///   - response: The response, or the error in its place.
    ///   - timings: The durations of the phases.
    ///   - redactor: Removes the secrets.
    package init(
        _ date: Date, time: Double, request: HTTPRequest, response: HTTPArchive.Response,
        timings: HTTPArchive.Timings = HTTPArchive.Timings(), by redactor: Redactor
    ) {
        let sent = HTTPArchive.Request(
            method: request.method.rawValue, url: redactor.recorded(urlText: request.url.absoluteString),
            headers: redactor.recorded(request.sentHeaders), body: request.recordedBody(by: redactor))
        self.init(
            startedDateTime: date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)), time: time, request: sent,
            response: response, timings: timings)
    }
}

extension HTTPArchive.Response {
    /// Makes the record of a response, without secrets.
    /// - Parameters:
    ///   - response: The response. A body that is still compressed is left out, because secrets in it can't be found.
    ///   - isKept: False if the body was not kept.
    ///   - redactor: Removes the secrets.
    package init(_ response: HTTPResponse, isKept: Bool, by redactor: Redactor) {
        let isShown = isKept && ContentCoding.codings(in: response.headers).isEmpty
        self.init(
            status: response.statusCode, headers: redactor.recorded(response.headers),
            body: redactor.recorded(isShown ? response.body : nil, contentType: response.headers["content-type"]))
    }

    /// Makes the record of an exchange without a response.
    package init(error: String) { self.init(status: 0, error: error) }
}
