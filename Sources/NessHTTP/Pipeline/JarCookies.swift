/// Tells a jar's part of a request's `Cookie` field from the caller's own.
final class JarCookies: Sendable {
    /// The field as the caller set it.
    private let own: String?
    /// The values that the jar has written into the field of the request and its redirects.
    private let written = Lock<Set<String>>([])

    init(own: String?) { self.own = own }

    /// The request with the cookies that the jar has for its URL. Those that the jar wrote before, for another URL or before a response set
    /// others, make way.
    @inline(never)
    /// - Parameters:
    ///   - request: The request.
    ///   - field: The jar's value of the field, given the caller's part of it.
    func set(in request: HTTPRequest, _ field: (_ own: String?) -> String?) -> HTTPRequest {
        let present = request.headers[HeaderName.cookie]
        let isWritten = present.map { present in written.withLock { $0.contains(present) } } ?? false
        let sent = field(isWritten ? own : present)
        if let sent { written.withLock { _ = $0.insert(sent) } }
        if sent == present { return request }
        var request = request
        request.headers[HeaderName.cookie] = sent
        return request
    }
}
