/// Validation of stored responses (RFC 9111, 4.3).
extension CachedResponse {
    /// The entity tag. `nil` if the response has none that can be sent.
    var entityTag: String? {
        guard let tag = headers.values(for: HeaderName.entityTag).first, !tag.isEmpty, tag.utf8.count <= 1_024 else { return nil }
        // An entity tag that is invalid in a header field would make every later request fail.
        return (try? OutgoingCheck.check(HTTPHeaders.Field(name: HeaderName.ifNoneMatch, value: tag))) == nil ? nil : tag
    }

    /// Makes a request that validates this response. Without a validator the request stays unchanged.
    func conditional(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        if let entityTag { request.headers[HeaderName.ifNoneMatch] = entityTag }
        if let date = headers.values(for: HeaderName.lastModified).first, HTTPDate.parse(date) != nil {
            request.headers[HeaderName.ifModifiedSince] = date
        }
        return request
    }

    /// Returns this response, updated by a 304 (RFC 9111, 4.3.4). `nil` if the 304 is about another response.
    func updated(by notModified: HTTPResponse) -> HTTPResponse? {
        if let tag = notModified.headers[HeaderName.entityTag], let mine = headers[HeaderName.entityTag], !Self.isSame(tag, mine) {
            return nil
        }
        var fresh = notModified.headers.withoutConnectionFields
        for name in Self.contentFields { fresh.remove(name) }
        var headers = headers
        // These fields describe the older response.
        for name in [HeaderName.age, HeaderName.date] { headers.remove(name) }
        headers.merge(fresh)
        var response = HTTPResponse(statusCode: statusCode, headers: headers, body: body, request: notModified.request)
        response.source = .revalidated
        response.removeContentCoding()
        return response
    }

    /// The fields that describe the body. A 304 has no body.
    static let contentFields = [
        HeaderName.contentLength, HeaderName.contentType, HeaderName.contentEncoding, HeaderName.contentRange,
    ]

    /// Compares entity tags weakly (RFC 9110, 8.8.3.2).
    static func isSame(_ tag: String, _ other: String) -> Bool {
        func opaque(_ tag: String) -> Substring.UTF8View { tag.startsExactly(with: "W/") ? tag.utf8.dropFirst(2) : tag.utf8[...] }
        return opaque(tag).elementsEqual(opaque(other))
    }
}
