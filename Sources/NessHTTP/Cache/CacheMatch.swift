/// The stored responses that matter for a request.
struct CacheMatch: Sendable {
    /// The newest response that matches the request. `nil` if none does.
    let response: CachedResponse?
    /// The newest responses of other variants. If no response matches the request, the request names these to the server.
    let others: [CachedResponse]
}

extension CacheMatch {
    /// Chooses among the responses with one key, newest first.
    init(among responses: [CachedResponse], for request: HTTPRequest) {
        let response = responses.first { $0.matches(request) }
        self.init(response: response, others: response == nil ? responses.filter { $0.entityTag != nil } : [])
    }

    /// Makes a match with one response.
    init(_ response: CachedResponse) { self.init(response: response, others: []) }

    /// Returns the match for an attempt. A retry must not get a stored failure, such as the one that caused it.
    func usable(inAttempt attempt: Int) -> CacheMatch {
        guard attempt > 1, let response, response.isFailure else { return self }
        return CacheMatch(response: nil, others: others)
    }

    /// Makes the request that validates these responses (RFC 9111, 4.1 and 4.3.1). The caller's own conditions stay, because they are about
    /// the caller's copy.
    func conditional(_ request: HTTPRequest) -> HTTPRequest {
        if request.hasConditions { return request }
        if let response { return response.conditional(request) }
        if others.isEmpty { return request }
        var request = request
        request.headers[HeaderName.ifNoneMatch] = others.compactMap(\.entityTag).joined(separator: ", ")
        return request
    }

    /// Returns the stored response that a 304 confirms. `nil` if the 304 is about another response.
    func confirmed(by notModified: HTTPResponse) -> CachedResponse? {
        if let response { return response }
        guard let tag = notModified.headers[HeaderName.entityTag] else { return others.count == 1 ? others.first : nil }
        return others.first { $0.entityTag.map { CachedResponse.isSame($0, tag) } == true }
    }
}
