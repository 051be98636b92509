import Foundation
import NessHTTP

// The JSON of HAR 1.2. The writer emits every member that the format requires. The reader needs only some of them, and ignores the rest.

extension HTTPArchive: Codable {
    private struct Log: Codable {
        struct Creator: Codable {
            var name = "NessTesting"
            var version = "1"
        }

        var version = "1.2"
        var creator = Creator()
        var entries: [Entry] = []

        init(entries: [Entry]) { self.entries = entries }

        init(from decoder: any Decoder) throws {
            entries = try decoder.container(keyedBy: CodingKeys.self).decode([Entry].self, forKey: .entries)
        }
    }

    private enum CodingKeys: CodingKey { case log }

    /// Reads a HAR file's object.
    public init(from decoder: any Decoder) throws {
        entries = try decoder.container(keyedBy: CodingKeys.self).decode(Log.self, forKey: .log).entries
    }

    /// Writes a HAR file's object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Log(entries: entries), forKey: .log)
    }
}

extension HTTPArchive.Entry: Codable {
    private struct Cache: Codable {}

    private enum CodingKeys: CodingKey { case startedDateTime, time, request, response, cache, timings }

    /// Reads an entry.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        startedDateTime = try container.decodeIfPresent(String.self, forKey: .startedDateTime) ?? ""
        time = try container.decodeIfPresent(Double.self, forKey: .time) ?? 0
        request = try container.decode(HTTPArchive.Request.self, forKey: .request)
        response = try container.decode(HTTPArchive.Response.self, forKey: .response)
        timings = try container.decodeIfPresent(HTTPArchive.Timings.self, forKey: .timings) ?? HTTPArchive.Timings()
    }

    /// Writes an entry.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(startedDateTime, forKey: .startedDateTime)
        try container.encode(time, forKey: .time)
        try container.encode(request, forKey: .request)
        try container.encode(response, forKey: .response)
        try container.encode(Cache(), forKey: .cache)
        try container.encode(timings, forKey: .timings)
    }
}

extension HTTPArchive.Request: Codable {
    private enum CodingKeys: CodingKey {
        case method, url, httpVersion, cookies, headers, queryString, postData, headersSize, bodySize
    }

    /// A request's body. The format has no member that marks Base64, so we use our own, whose name begins with `_` as the format requires.
    private struct PostData: Codable {
        var mimeType: String?
        var text: String?
        var params: [HTTPArchive.Param]?
        var encoding: String?

        enum CodingKeys: String, CodingKey {
            case mimeType, text, params
            case encoding = "_encoding"
        }
    }

    /// Reads a request.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        method = try container.decode(String.self, forKey: .method)
        url = try container.decode(String.self, forKey: .url)
        headers = try container.decodeIfPresent([HTTPArchive.Pair].self, forKey: .headers) ?? []
        guard let post = try container.decodeIfPresent(PostData.self, forKey: .postData) else { return }
        let isForm = post.mimeType?.lowercased().contains("x-www-form-urlencoded") == true
        // Some programs write a form's fields instead of its text.
        let fields = post.params.flatMap { $0.isEmpty || !isForm ? nil : $0 }
        let form = fields?.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value ?? ""))" }.joined(separator: "&")
        body = HTTPArchive.Content(mimeType: post.mimeType ?? "", text: post.text ?? form, isBase64: post.encoding == "base64")
    }

    /// Writes a request.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(method, forKey: .method)
        try container.encode(url, forKey: .url)
        try container.encode("HTTP/1.1", forKey: .httpVersion)
        try container.encode(headers.cookies(named: "cookie"), forKey: .cookies)
        try container.encode(headers, forKey: .headers)
        let query = ReceivedRequest(method: .get, target: url).queryItems.map { HTTPArchive.Pair(name: $0.name, value: $0.value) }
        try container.encode(query, forKey: .queryString)
        if let body {
            let encoding = body.isBase64 ? "base64" : nil
            try container.encode(PostData(mimeType: body.mimeType, text: body.text, encoding: encoding), forKey: .postData)
        }
        try container.encode(-1, forKey: .headersSize)
        try container.encode(body.map { $0.data?.count ?? -1 } ?? 0, forKey: .bodySize)
    }
}

extension HTTPArchive.Response: Codable {
    private enum CodingKeys: String, CodingKey {
        case status, statusText, httpVersion, cookies, headers, content, redirectURL, headersSize, bodySize
        case error = "_error"
    }

    private struct Content: Codable {
        var size: Int?
        var mimeType: String?
        var text: String?
        var encoding: String?
    }

    /// Reads a response.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        status = try container.decode(Int.self, forKey: .status)
        headers = try container.decodeIfPresent([HTTPArchive.Pair].self, forKey: .headers) ?? []
        error = try? container.decodeIfPresent(String.self, forKey: .error)
        let content = try container.decodeIfPresent(Content.self, forKey: .content)
        let isBase64 = content?.encoding?.lowercased() == "base64"
        // An empty body needs no text. Any other size without text means that the body was not recorded.
        let text = content?.text ?? (content?.size ?? 0 == 0 ? "" : nil)
        body = HTTPArchive.Content(mimeType: content?.mimeType ?? "", text: text, isBase64: isBase64)
    }

    /// Writes a response.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(status, forKey: .status)
        try container.encode(status == 0 ? "" : ReasonPhrase.of(status), forKey: .statusText)
        try container.encode("HTTP/1.1", forKey: .httpVersion)
        try container.encode(headers.cookies(named: "set-cookie"), forKey: .cookies)
        try container.encode(headers, forKey: .headers)
        let size = body.data?.count ?? -1
        let encoding = body.isBase64 ? "base64" : nil
        try container.encode(Content(size: size, mimeType: body.mimeType, text: body.text, encoding: encoding), forKey: .content)
        try container.encode(headers.first { $0.name.equalsIgnoringCase("location") }?.value ?? "", forKey: .redirectURL)
        try container.encode(-1, forKey: .headersSize)
        try container.encode(-1, forKey: .bodySize)
        try container.encodeIfPresent(error, forKey: .error)
    }
}

extension HTTPArchive {
    /// A field of a form, for programs that write the fields apart.
    fileprivate struct Param: Codable {
        var name: String
        var value: String?
    }
}

extension [HTTPArchive.Pair] {
    /// The cookies of a header field. Their names and values are always replaced by the mark for secrets, as in the field itself.
    fileprivate func cookies(named name: String) -> [HTTPArchive.Pair] {
        filter { $0.name.equalsIgnoringCase(name) }.map { _ in HTTPArchive.Pair(name: Redactor.mark, value: Redactor.mark) }
    }
}
