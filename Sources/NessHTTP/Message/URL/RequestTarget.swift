import Foundation

/// A request's URL in its parsed form, which every step of the request uses.
///
/// It exists for URLs in the common form (see `ParsedURL`) without dot segments, which are sent as they are. For any other URL, each step
/// parses the URL itself.
final class RequestTarget: Sendable {
    let parsed: ParsedURL
    let origin: ParsedURL.Origin
    /// The URL in its normal form (RFC 3986, section 6.2).
    let normalized: String

    init?(_ url: URL) {
        let text = url.absoluteString
        guard url.baseURL == nil, let parsed = ParsedURL(commonForm: text), !URL.mayHaveDotSegments(text) else { return nil }
        self.parsed = parsed
        origin = parsed.origin
        normalized = parsed.normalized
    }
}

extension HTTPRequest {
    /// The URL in its parsed form.
    var parsedURL: ParsedURL { target?.parsed ?? ParsedURL(url) }

    /// The origin of the URL.
    @inline(never)
    var origin: ParsedURL.Origin { target?.origin ?? ParsedURL(url).origin }

    /// The URL in its normal form (RFC 3986, section 6.2).
    var normalizedURL: String { target?.normalized ?? ParsedURL(url).normalized }
}
