import Foundation
import NessHTTP

/// One segment of a URL's path, percent-decoded, for comparing.
///
/// An encoded slash is not a slash: what stands on its two sides is kept apart, so that no decoded text can be taken for it.
struct PathSegment: Hashable, Sendable {
    private let parts: [String]

    /// Reads a segment.
    /// - Parameter encoded: The segment as it stands in the path.
    init(_ encoded: Substring) {
        parts = encoded.replacing("%2f", with: "%2F").split(separator: "%2F", omittingEmptySubsequences: false).map(PercentEncoding.decode)
    }

    /// The segments of a path. Empty ones, from doubled slashes or one at the end, are left out.
    static func all(of path: Substring) -> [PathSegment] { path.split(separator: "/").map(PathSegment.init) }

    /// The decoded text, in which an encoded slash stays `%2F`: it never holds a slash.
    var value: String { parts.joined(separator: "%2F") }
}
