import Foundation

extension URL {
    /// Returns this URL with segments at the end of its path, before its query and its fragment.
    ///
    /// All characters of a segment except the unreserved ones are percent-encoded, so that any value stays one segment.
    /// - Parameter segments: The segments, as text.
    /// - Throws: `InvalidRequest` for `.`, `..` and the empty segment, which would lead to another path.
    func appending(segments: [String]) throws -> URL {
        for segment in segments where ["", ".", ".."].contains(segment) {
            throw InvalidRequest("\"\(segment)\" cannot be a segment of a path")
        }
        let text = relativeString
        let end = text.firstIndex { "?#".contains($0) } ?? text.endIndex
        // Without a path, a slash would lead to the root of the host.
        let separator = end == text.startIndex || text[..<end].hasSuffix("/") ? "" : "/"
        let path = segments.map(PercentEncoding.encode).joined(separator: "/")
        guard let url = URL(string: text[..<end] + separator + path + text[end...], relativeTo: baseURL) else {
            throw InvalidRequest("segments cannot be appended to this URL")
        }
        return url
    }
}

extension URL {
    /// A Boolean value that indicates whether the URL is absolute. The segment `documents:analyze` of a path looks like one, but a URL that
    /// can be sent has two slashes after its scheme, or the scheme http or https.
    var namesScheme: Bool {
        guard let scheme else { return false }
        if scheme.equalsIgnoringCase("https") || scheme.equalsIgnoringCase("http") { return true }
        return absoluteString.utf8.dropFirst(scheme.utf8.count).starts(with: "://".utf8)
    }

    /// This URL without the segments `.` and `..` of its path, encoded or not (RFC 3986, 5.2.4 and 6.2.2.2).
    ///
    /// A transport would remove them at the latest, and a signature made before would be about another path than the one that is sent.
    package var removingDotSegments: URL {
        let text = absoluteString
        guard Self.mayHaveDotSegments(text), let scheme = text.range(of: "://") else { return self }
        let rest = text[scheme.upperBound...]
        let pathStart = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        let pathEnd = rest.firstIndex { "?#".contains($0) } ?? rest.endIndex
        guard pathStart < pathEnd else { return self }
        let path = Self.removingDotSegments(rest[pathStart..<pathEnd])
        return URL(string: text[..<pathStart] + path + text[pathEnd...]) ?? self
    }

    /// Checks quickly whether a URL may have dot segments. Most have none.
    static func mayHaveDotSegments(_ text: String) -> Bool {
        // A dot after a slash, or the beginning of an encoded one.
        zip(text.utf8, text.utf8.dropFirst()).contains { $0 == UInt8(ascii: "/") && ".%".utf8.contains($1) }
    }

    private static func removingDotSegments(_ path: Substring) -> String {
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        var kept: [Substring] = []
        for (index, segment) in segments.enumerated() {
            let decoded = segment.count > 6 ? String(segment) : segment.lowercased().replacingOccurrences(of: "%2e", with: ".")
            guard decoded == "." || decoded == ".." else {
                kept.append(segment)
                continue
            }
            if decoded == ".." { _ = kept.popLast() }
            // The folder that the path now ends with keeps its slash.
            if index == segments.count - 1 { kept.append("") }
        }
        return "/" + kept.joined(separator: "/")
    }
}
