/// The way in which the end of a response's body is recognized (RFC 9112, section 6.3).
enum BodyFraming: Equatable {
    /// The body has a number of bytes, in its content coding.
    case length(Int64)
    /// The last chunk ends the body.
    case chunked
    /// The end of the stream or the connection ends the body. Over HTTP/1.1, a body that was cut off looks complete.
    case connection
}

extension HTTPHeaders {
    /// Returns how the end of the body is recognized.
    /// - Throws: `TransportError` of the kind `malformedResponse` if a transfer coding hides the end, or if the length is not a number.
    func bodyFraming() throws -> BodyFraming {
        if contains(HeaderName.transferEncoding) {
            // RFC 2616 had `identity`, which means that the body is not coded. URLSession still shows it.
            let codings = values(for: HeaderName.transferEncoding).flatMap(HeaderFieldValue.members).map(\.asciiLowercased)
            if let last = codings.last(where: { $0 != "identity" }) {
                guard last == "chunked" else {
                    throw TransportError(.malformedResponse, "the last transfer coding is not \"chunked\", so the end can't be detected")
                }
                return .chunked
            }
        }
        guard let text = self[HeaderName.contentLength] else { return .connection }
        guard let length = HeaderFieldValue.length(text) else {
            throw TransportError(.malformedResponse, "the Content-Length is not a number")
        }
        return .length(length)
    }
}
