/// The codings of a response's content (RFC 9110, 8.4).
package enum ContentCoding {
    /// Returns true if a transport removes the codings of a content, so that the fields about the encoded content no longer apply.
    ///
    /// A request that asks for a coding which no transport knows gets the content as it is, to decode it itself.
    /// - Parameter failsIfUnknown: True if a transport fails where it knows no coding of a content, and the request asked for none. URLSession
    ///   on Apple platforms delivers such a content as it is.
    package static func isRemoved(
        from statusCode: Int, _ headers: HTTPHeaders, of request: HTTPRequest, failsIfUnknown: Bool = URLSessionSystem.current == .linux
    ) -> Bool {
        let codings = codings(in: headers)
        if codings.isEmpty || request[KeepsContentCoding.self] || request.method == .head { return false }
        if statusCode < 200 || statusCode == 204 || statusCode == 304 { return false }
        return codings.contains(where: known.contains) || (failsIfUnknown && !request.headers.contains(HeaderName.acceptEncoding))
    }

    /// Returns the codings in lower case, in the order in which they were applied. Values that mean no coding are left out.
    package static func codings(in headers: HTTPHeaders) -> [String] {
        guard headers.contains(HeaderName.contentEncoding) else { return [] }
        return headers.members(of: HeaderName.contentEncoding).map(\.asciiLowercased).filter { !meaningless.contains($0) }
            .filter { TextEncoding(label: $0) == nil }
    }

    /// Values of servers that mean no coding, besides the names of character sets. `aws-chunked` describes how an object was uploaded.
    private static let meaningless: Set = ["identity", "none", "null", "binary", "7bit", "8bit", "aws-chunked"]

    #if canImport(FoundationNetworking)
    private static let known = Set(BodyInflater.codings + ["x-gzip"])
    #else
    private static let known: Set = ["gzip", "x-gzip", "deflate", "br"]
    #endif
}
