import NessLock

/// Distinguishes a jar's part of a request's `Cookie` field from the caller's own part.
final class JarCookies: Sendable {
    /// The field as the caller set it.
    private let callersField: String?
    /// The values that the jar has written into the field of the request and its redirects.
    private let written = Lock<Set<String>>([])

    init(callersField: String?) { self.callersField = callersField }

    /// Returns the request with the cookies that the jar has for its URL. They replace the cookies that the jar wrote earlier: for another
    /// URL, or before a response set new ones.
    /// - Parameters:
    ///   - request: The request.
    ///   - field: Takes the caller's part of the field, and returns the whole field; `nil` for no field.
    @inline(never)
    func set(in request: HTTPRequest, _ field: (_ callersField: String?) -> String?) -> HTTPRequest {
        let present = request.headers[HeaderName.cookie]
        let isWritten = present.map { present in written.withLock { $0.contains(present) } } ?? false
        let sent = field(isWritten ? callersField : present)
        if let sent { written.withLock { _ = $0.insert(sent) } }
        if sent == present { return request }
        var request = request
        request.headers[HeaderName.cookie] = sent
        return request
    }
}
