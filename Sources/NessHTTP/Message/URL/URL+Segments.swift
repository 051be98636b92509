import Foundation

extension URL {
    /// Returns this URL with segments at the end of its path, before its query and its fragment.
    ///
    /// All characters of a segment but the unreserved ones are percent-encoded, so that a value stays one segment, whatever it contains.
    /// - Parameter segments: The segments, as text.
    /// - Throws: `InvalidURL` for `.`, `..` and the empty segment, which would lead to another path.
    func appending(segments: [String]) throws -> URL {
        for segment in segments where ["", ".", ".."].contains(segment) {
            throw InvalidURL(description: "\"\(segment)\" cannot be a segment of a path")
        }
        let text = relativeString
        let end = text.firstIndex { "?#".contains($0) } ?? text.endIndex
        // Without a path, a slash would lead to the root of the host.
        let separator = end == text.startIndex || text[..<end].hasSuffix("/") ? "" : "/"
        let path = segments.map(PercentEncoding.encode).joined(separator: "/")
        guard let url = URL(string: text[..<end] + separator + path + text[end...], relativeTo: baseURL) else {
            throw InvalidURL(description: "segments cannot be appended to this URL")
        }
        return url
    }
}
