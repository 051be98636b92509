import Foundation
import NessHTTP

/// The parts of a request that routes compare. A request is parsed once for all routes.
struct RouteTarget: Sendable {
    /// The method.
    let method: HTTPMethod
    /// The scheme, in lower case.
    let scheme: String?
    /// The host, percent-encoded.
    let host: String
    /// The port; the scheme's default if the URL has none.
    let port: Int
    /// The segments of the whole path.
    let segments: [String]
    /// The segments of the path below the manager's base URL; `nil` if the URL is outside. All segments if there is no base URL.
    let segmentsBelowBase: ArraySlice<String>?
    /// The pairs of the query.
    let items: [ReceivedRequest.Item]
    /// The manager's base URL; `nil` if it has none, and for a request without a manager.
    let baseURL: URL?

    init(_ request: HTTPRequest, below baseURL: URL?) {
        let parts = URLComponents(url: request.url, resolvingAgainstBaseURL: true) ?? URLComponents()
        method = request.method
        scheme = parts.scheme?.lowercased()
        host = parts.percentEncodedHost ?? ""
        port = parts.port ?? (scheme == "https" ? 443 : 80)
        segments = Self.segments(ofPath: parts.percentEncodedPath)
        items = RoutePattern.items(of: parts.percentEncodedQuery?[...] ?? "")
        self.baseURL = baseURL
        segmentsBelowBase = Self.segments(segments, of: request.url, below: baseURL)
    }

    /// Returns the decoded segments of a path without empty ones, which come from doubled slashes or a slash at the end.
    private static func segments(ofPath path: String) -> [String] { path.split(separator: "/").map(PercentEncoding.decode) }

    private static func segments(_ segments: [String], of url: URL, below baseURL: URL?) -> ArraySlice<String>? {
        guard let baseURL else { return segments[...] }
        let base = URLComponents(url: baseURL.absoluteURL.removingDotSegments, resolvingAgainstBaseURL: true)
        let folder = Self.segments(ofPath: base?.percentEncodedPath ?? "")
        guard baseURL.hasSameOrigin(as: url), segments.starts(with: folder) else { return nil }
        return segments.dropFirst(folder.count)
    }
}
