import Foundation
import NessHTTP

/// One segment of a URL's path, percent-decoded for comparison.
///
/// An encoded slash is not a separator. The texts before and after it are stored separately, so a decoded `%252F` cannot be mistaken for
/// it.
struct PathSegment: Hashable, Sendable {
    private let parts: [String]

    /// Reads a segment.
    /// - Parameter encoded: The segment, as written in the path.
    init(_ encoded: Substring) {
        parts = encoded.replacing("%2f", with: "%2F").split(separator: "%2F", omittingEmptySubsequences: false).map(PercentEncoding.decode)
    }

    /// Returns the segments of a path without empty ones, which come from doubled slashes or a slash at the end.
    static func all(of path: Substring) -> [PathSegment] { path.split(separator: "/").map(PathSegment.init) }

    /// The decoded text. It contains no slash, because an encoded slash stays `%2F`.
    var value: String { parts.joined(separator: "%2F") }
}
