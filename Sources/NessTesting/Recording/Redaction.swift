import Foundation
import NessHTTP

/// What of an exchange may stand in a file, and what of it is compared: never a secret.
extension SecretNames {
    /// A URL's text without secrets, still a URL.
    func recorded(urlText text: String) -> String {
        redacted(urlText: text).replacing(Self.mark, with: "%3Credacted%3E")
    }

    /// Header fields without secrets.
    func recorded(_ headers: HTTPHeaders) -> [HTTPArchive.Pair] {
        headers.map { field in
            // What is a URL stays one: a redirect has to lead somewhere when it is replayed.
            let shown = containsHeader(field.name) ? Self.mark : redacted(field).replacing(Self.mark, with: "%3Credacted%3E")
            return HTTPArchive.Pair(name: field.name, value: shown)
        }
    }

    /// A body without secrets. Those in parts are left out, as is what is not in memory.
    func recorded(_ body: Data?, contentType: String?) -> HTTPArchive.Content {
        let type = contentType ?? ""
        guard let body, !Self.hasParts(body, contentType) else { return HTTPArchive.Content(text: nil, mimeType: type) }
        if let text = redacted(body: body, contentType: contentType) { return HTTPArchive.Content(text: text, mimeType: type) }
        var content = HTTPArchive.Content(text: redacted(bytes: body).base64EncodedString(), mimeType: type)
        content.isBase64 = true
        return content
    }

    /// What tells URLs apart: the text without secrets and fragment, scheme and host in lower case, no default port, `/` for an empty path.
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
    /// The body with what the request says of its type.
    func recordedBody() -> HTTPArchive.Content? {
        guard let body else { return nil }
        return secrets.recorded(body.data, contentType: headers["content-type"] ?? body.headers["content-type"])
    }
}
