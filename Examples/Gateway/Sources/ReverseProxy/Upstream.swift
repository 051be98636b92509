import Foundation

/// The server to which the proxy sends every request.
public struct Upstream: Sendable {
    /// The start of every URL: scheme, host, port, and a path without a slash at its end.
    private let start: String
    /// The name of every request in metrics and spans. A client's path would make another time series for each value.
    let route: String

    /// Makes an upstream from its URL. A path in it comes before the path of each request.
    /// - Parameter url: An `http` or `https` URL without a user, a query and a fragment.
    /// - Returns: `nil` for any other URL.
    public init?(_ url: String) {
        guard let parts = URLComponents(string: url), ["http", "https"].contains(parts.scheme), parts.host?.isEmpty == false,
            parts.user == nil, parts.query == nil, parts.fragment == nil
        else { return nil }
        start = url.hasSuffix("/") ? String(url.dropLast()) : url
        route = (parts.path.hasSuffix("/") ? String(parts.path.dropLast()) : parts.path) + "/{path}"
    }

    /// Returns the URL for a request target in origin form (RFC 9112, 3.2.1), unchanged.
    ///
    /// `//evil.example/` is a path of the upstream, because the target follows the host's name. Escapes stay as they are: `a%2Fb` is one
    /// segment.
    /// - Parameter target: The path and the query, as the client sent them.
    /// - Throws: `Refusal` with 400 for a target with a dot segment, which Ness would remove, and for one that is not a valid path with a
    ///   query.
    func url(for target: String) throws -> URL {
        // RFC 9112, 3.2 advises against correcting a wrong target, which may be made to pass a filter.
        guard target.utf8.first == UInt8(ascii: "/"), target.utf8.isPercentEncoded(allowing: Self.allowed), !Self.hasDotSegment(target),
            let url = URL(string: start + target)
        else {
            throw Refusal(400)
        }
        return url
    }

    /// The characters of paths and queries (RFC 3986, 3.3 and 3.4).
    private static let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@/?".utf8)

    /// Returns true if the path has a dot segment, even in a spelling that only some servers read as one: `%2e%2e`, `..%2F`, `..%5C` or
    /// `..;a`.
    private static func hasDotSegment(_ target: String) -> Bool {
        let path = target.prefix { $0 != "?" }.lowercased().replacingOccurrences(of: "%2e", with: ".")
            .replacingOccurrences(of: "%2f", with: "/").replacingOccurrences(of: "%5c", with: "/").replacingOccurrences(
                of: "%3b", with: ";")
        return path.split(separator: "/").contains { [".", ".."].contains($0.prefix { $0 != ";" }) }
    }
}
