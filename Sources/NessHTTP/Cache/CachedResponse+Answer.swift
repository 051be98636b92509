import Foundation

/// Responses to requests with conditions or a range, made from a stored response.
extension CachedResponse {
    /// Makes the response to a request (RFC 9111, 4.3.2; RFC 9110, 13.2.2 and 14.2). `nil` if only the server can respond.
    func answer(to request: HTTPRequest, at now: Date) -> HTTPResponse? {
        var answered = headers
        answered[HeaderName.age] = "\(Int64(min(age(at: now), 2_147_483_648)))"
        var response = HTTPResponse(
            statusCode: statusCode, headers: answered, body: body, request: request, source: isStale(at: now) ? .stale : .cache)
        // The stored content was decoded.
        response.removeContentCoding()
        // Conditions apply to successful responses only.
        guard !isFailure, request.hasConditions else { return response }
        if isUnchanged(since: request.headers) {
            response.statusCode = 304
            response.body = Data()
            for name in Self.contentFields { response.headers.remove(name) }
            return response
        }
        guard statusCode == 200, request.headers.contains(HeaderName.range), isRangeWanted(request.headers) else { return response }
        // A range counts bytes of the encoded body, but the stored body may be decoded.
        guard !headers.contains(HeaderName.contentEncoding), let range = range(request.headers) else { return nil }
        response.statusCode = 206
        response.body = body.subdata(in: body.startIndex + range.lowerBound..<body.startIndex + range.upperBound)
        response.headers[HeaderName.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.count)"
        response.headers[HeaderName.contentLength] = "\(range.count)"
        return response
    }

    /// True if the caller's copy is current, by If-None-Match, or else by If-Modified-Since.
    private func isUnchanged(since request: HTTPHeaders) -> Bool {
        if request.contains(HeaderName.ifNoneMatch) {
            let mine = headers[HeaderName.entityTag]
            return request.members(of: HeaderName.ifNoneMatch).contains { tag in tag == "*" || mine.map { Self.isSame(tag, $0) } == true }
        }
        guard let since = Self.date(HeaderName.ifModifiedSince, in: request) else { return false }
        return (Self.date(HeaderName.lastModified, in: headers) ?? Self.date(HeaderName.date, in: headers) ?? received) <= since
    }

    /// True unless If-Range names another version. It compares entity tags strongly, and dates as text.
    private func isRangeWanted(_ request: HTTPHeaders) -> Bool {
        guard let validator = request[HeaderName.ifRange] else { return true }
        if validator.startsExactly(with: "W/") { return false }
        return [HeaderName.entityTag, HeaderName.lastModified].contains { headers[$0]?.isExactly(validator) == true }
    }

    /// The requested range, if it is a single span within the body. `nil` for any other range, which the server may handle as it chooses.
    private func range(_ request: HTTPHeaders) -> Range<Int>? {
        guard let value = request[HeaderName.range] else { return nil }
        let halves = value.split(separator: "=", omittingEmptySubsequences: false)
        guard halves.count == 2, halves[0].equalsIgnoringCase("bytes") else { return nil }
        let ends = halves[1].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        let count = Int64(body.count)
        if ends[0].isEmpty {
            guard let length = HeaderFieldValue.number(ends[1]) else { return nil }
            let first = count - min(length, count)
            return first < count ? Int(first)..<body.count : nil
        }
        guard let first = HeaderFieldValue.number(ends[0]), let last = ends[1].isEmpty ? .max : HeaderFieldValue.number(ends[1]),
            first < count, first <= last
        else { return nil }
        return Int(first)..<Int(min(last, count - 1) + 1)
    }
}

extension HTTPRequest {
    /// True if the request has conditions or a range, so that the response may be a 304 or a part.
    var hasConditions: Bool { Self.conditions.contains { headers.contains($0) } }

    /// The request without its conditions and its range.
    var withoutConditions: HTTPRequest {
        var request = self
        for name in Self.conditions { request.headers.remove(name) }
        return request
    }

    private static let conditions = [HeaderName.range, HeaderName.ifRange, HeaderName.ifNoneMatch, HeaderName.ifModifiedSince]
}
