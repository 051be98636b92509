#if canImport(CNessCurl)
import Foundation

/// Removes the content codings of a response's body.
struct ContentDecoder {
    /// The inflaters of the codings. The coding that was applied last comes first.
    private var inflaters: [BodyInflater] = []

    /// Makes a decoder that passes the body unchanged.
    init() {}

    /// Makes the decoder of a body. It passes the body unchanged if the body has no coding, or if the caller wants the encoded body.
    /// - Throws: `TransportError` of the kind `malformedResponse` for a coding that is not supported.
    init(_ head: ResponseHeadParser.Head, of request: HTTPRequest) throws {
        if request[KeepsContentCoding.self] { return }
        let field = head.headers[HeaderName.contentEncoding]?.lowercased() ?? ""
        let codings = field.split(separator: ",").map { HeaderFieldValue.trimmed(String($0)) }.filter { !$0.isEmpty && $0 != "identity" }
        if codings.isEmpty || request.method == .head || head.statusCode == 204 || head.statusCode == 304 { return }
        inflaters = codings.reversed().compactMap { BodyInflater($0) }
        if inflaters.count == codings.count { return }
        // A caller that asks for other codings decodes them itself.
        if inflaters.isEmpty, request.headers.contains(HeaderName.acceptEncoding) { return }
        throw TransportError(.malformedResponse, "the body came in a content coding that was not asked for (\(field))")
    }

    /// Decodes a piece of the body.
    /// - Parameters:
    ///   - bytes: The piece.
    ///   - deliver: Receives the decoded bytes, in zero or more pieces.
    func decode(_ bytes: UnsafeBufferPointer<UInt8>, _ deliver: (Data) -> Void) throws { try decode(bytes, from: 0, deliver) }

    /// Decodes a piece, starting with the coding at an index.
    private func decode(_ bytes: UnsafeBufferPointer<UInt8>, from index: Int, _ deliver: (Data) -> Void) throws {
        guard index < inflaters.count else { return deliver(Data(buffer: bytes)) }
        try inflaters[index].inflate(bytes) { piece in
            try piece.withUnsafeBytes { try decode($0.bindMemory(to: UInt8.self), from: index + 1, deliver) }
        }
    }

    /// Checks that the body was complete.
    func finish() throws {
        for inflater in inflaters { try inflater.finish() }
    }
}
#endif
