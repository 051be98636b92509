/// The codings of a response's content (RFC 9110, 8.4).
package enum ContentCoding {
    /// Returns true if a transport decodes the body, so that header fields about the encoded content no longer apply.
    ///
    /// If a request asks for a coding that no transport knows, its caller receives the encoded body and decodes it.
    /// - Parameter failsIfUnknown: True if a transport fails for an unknown coding that the request did not ask for. URLSession on Apple
    ///   platforms delivers such a body encoded.
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

    /// Values that servers send although the body has no coding. Names of character sets are ignored as well. `aws-chunked` describes how
    /// an object was uploaded.
    private static let meaningless: Set = ["identity", "none", "null", "binary", "7bit", "8bit", "aws-chunked"]

    #if canImport(FoundationNetworking)
    private static let known = Set(BodyInflater.codings + ["x-gzip"])
    #else
    private static let known: Set = ["gzip", "x-gzip", "deflate", "br"]
    #endif
}
