import Foundation
import NessHTTP

/// The conversion of an exchange to a form without secrets, for storage in a file and for comparison.
extension Redactor {
    /// Returns a URL's text without secrets. The result is still a valid URL.
    func recorded(urlText text: String) -> String {
        redacted(urlText: text).replacing(Self.mark, with: "%3Credacted%3E")
    }

    /// Returns header fields without secrets.
    func recorded(_ headers: HTTPHeaders) -> [HTTPArchive.Pair] {
        headers.map { field in
            // A field that holds a URL still holds one afterwards, so that a replayed redirect has a target.
            let shown = names.containsHeader(field.name) ? Self.mark : redacted(field).replacing(Self.mark, with: "%3Credacted%3E")
            return HTTPArchive.Pair(name: redactedName(field), value: shown)
        }
    }

    /// Returns a body without secrets. Its media type has no parameters, since one may be a secret. The text is `nil` for a body that is
    /// not in memory, and for one that is not shown.
    func recorded(_ body: Data?, contentType: String?) -> HTTPArchive.Content {
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
    func recordedBody() -> HTTPArchive.Content? {
        guard let body else { return nil }
        let isCoded = headers.contains("content-encoding") || body.headers.contains("content-encoding")
        return redactor.recorded(isCoded ? nil : body.data, contentType: sentHeaders["content-type"])
    }
}
