import Foundation

extension URL {
    /// Adds parameters behind those the URL has, in front of its fragment. What the URL has keeps its bytes: nothing is decoded
    /// or encoded a second time, which is why this works on the text and not on `URLComponents`.
    /// - Parameter query: The parameters. Without any the URL stays as it is, an empty query included.
    /// - Returns: The new URL, relative to the same base where this is relative; nil where Foundation takes the text for no URL.
    package func appending(_ query: URLQuery) -> URL? {
        let added = query.encoded
        if added.isEmpty { return self }
        let text = relativeString
        // Without a path of its own, a relative reference would lose the base's query for the one it gets (RFC 3986, 5.2.2).
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
