import NessLock

/// Distinguishes a jar's part of a request's `Cookie` field from the caller's own part.
final class JarCookies: Sendable {
    /// The values that the jar has written into the field of the request and its redirects, each with the caller's part of it: `nil` once a
    /// redirect to another origin has removed that part.
    private let written = Lock<[ExactText: ExactText?]>([:])

    /// Returns the caller's part of a `Cookie` field; `nil` if the jar wrote all of it.
    func callersField(in field: String) -> String? { written.withLock { $0[ExactText(field)] ?? ExactText(field) }?.text }

    /// Returns the request with the cookies that the jar has for its URL. They replace the cookies that the jar wrote earlier: for another
    /// URL, or before a response set new ones.
    /// - Parameters:
    ///   - request: The request.
    ///   - field: Takes the caller's part of the field, and returns the whole field; `nil` for no field.
    @inline(never)
    func set(in request: HTTPRequest, _ field: (_ callersField: String?) -> String?) -> HTTPRequest {
        let present = request.headers[HeaderName.cookie], callersField = present.flatMap(callersField).map { ExactText($0) }
        let sent = field(callersField?.text).map { ExactText($0) }
        if let sent {
            written.withLock { written in
                // The value was written both with and without a caller's part. It counts as the jar's, because the caller's part must not
                // reach another origin.
                let isAmbiguous = written[sent].map { $0 != callersField } ?? false
                written[sent] = .some(isAmbiguous ? nil : callersField)
            }
        }
        if sent == present.map({ ExactText($0) }) { return request }
        var request = request
        request.headers[HeaderName.cookie] = sent?.text
        return request
    }
}

extension CookieJar {
    /// Returns a request with the jar's cookies for its URL.
    ///
    /// This happens above the cache and the sharing of flights, because they must not give one user another user's response, and again for
    /// the target of a redirect.
    /// - Parameters:
    ///   - request: The request.
    ///   - cookies: Distinguishes the jar's part of the field, for all redirects of the request.
    @inline(never)
    func adding(to request: HTTPRequest, known cookies: JarCookies) -> HTTPRequest {
        request.takesCookies ? cookies.set(in: request) { header(for: request.url, besides: $0) } : request
    }
}

extension HTTPRequest {
    /// True for a request that gets the jar's cookies. The response to a TRACE would show them (RFC 9110, 9.3.8).
    var takesCookies: Bool { !settings.bypassesCookies && method != .trace }
}
