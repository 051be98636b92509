import Foundation

extension URL {
    /// Adds parameters after those of the URL, before its fragment.
    ///
    /// The existing part of the URL keeps its bytes. The method works on the text instead of `URLComponents`, which would decode and encode
    /// that part a second time.
    /// - Parameter query: The parameters. An empty query leaves the URL unchanged.
    /// - Returns: The new URL, relative to the same base if this URL is relative; `nil` if Foundation rejects the text.
    package func appending(_ query: URLQuery) -> URL? {
        let added = query.encoded
        if added.isEmpty { return self }
        let text = relativeString
        // A relative reference without a path would replace the query of its base (RFC 3986, section 5.2.2).
        if baseURL != nil, text.isEmpty || text.utf8.first == UInt8(ascii: "#") { return absoluteURL.appending(query) }

        let end = text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex
        let front = text[..<end]
        let separator: String
        if let mark = front.utf8.firstIndex(of: UInt8(ascii: "?")) {
            let last = front.utf8[mark...].dropFirst().last
            separator = last == nil || last == UInt8(ascii: "&") ? "" : "&"
        } else {
            separator = "?"
        }
        return URL(string: "\(front)\(separator)\(added)\(text[end...])", relativeTo: baseURL)
    }
}
