/// The stored responses that bear on a request.
struct CacheMatch: Sendable {
    /// The newest that answers the request; nil if none does.
    let response: CachedResponse?
    /// The newest of other variants, to be asked about where none answers the request.
    let others: [CachedResponse]

    /// A server with so many variants gets no longer field.
    private static let othersLimit = 8

    /// Chooses among the responses with one key.
    init(among responses: [CachedResponse], for request: HTTPRequest) {
        let newest = responses.sorted { $0.received > $1.received }
        response = newest.first { $0.matches(request) }
        others = response == nil ? Array(newest.filter { $0.entityTag != nil }.prefix(Self.othersLimit)) : []
    }

    /// A response that answers its request.
    init(_ response: CachedResponse) {
        self.response = response
        others = []
    }

    /// The request that asks the server about these (RFC 9111, 4.1 and 4.3.1). The caller's own conditions are about the caller's copy.
    func condition(_ request: HTTPRequest) -> HTTPRequest {
        if request.hasConditions { return request }
        if let response { return response.condition(request) }
        if others.isEmpty { return request }
        var request = request
        request.headers[HeaderName.ifNoneMatch] = others.compactMap(\.entityTag).joined(separator: ", ")
        return request
    }

    /// The response that a 304 stands for; nil where it speaks of another.
    func updated(by notModified: HTTPResponse) -> HTTPResponse? {
        if let response { return response.updated(by: notModified) }
        guard let tag = notModified.headers[HeaderName.entityTag] else {
            return others.count == 1 ? others.first?.updated(by: notModified) : nil
        }
        return others.first { $0.entityTag.map { CachedResponse.isSame($0, tag) } == true }?.updated(by: notModified)
    }
}
