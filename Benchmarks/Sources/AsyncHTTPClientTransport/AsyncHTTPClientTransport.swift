import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import NIOFoundationCompat
import NIOHTTP1
import NIOSSL
import NessHTTP

/// A transport on AsyncHTTPClient, as an example of a transport on another library.
///
/// The client must not follow redirects, because the pipeline does. It has to remove content codings if a request may ask for one; this
/// transport itself asks for none. The program `conformance` tests it.
public struct AsyncHTTPClientTransport: NessHTTP.Transport {
    private let client: HTTPClient

    /// Makes a transport.
    /// - Parameter client: The client. It must not follow redirects. The caller shuts it down.
    public init(_ client: HTTPClient) { self.client = client }

    /// Sends a request and reports the response. The events arrive in the calling task.
    public func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        var hasHead = false
        let response: HTTPClientResponse
        do {
            // The pipeline has its own timeouts.
            response = try await client.execute(Self.outgoing(request), deadline: .distantFuture)
        } catch {
            throw Self.map(error, hasHead: hasHead)
        }
        try Self.check(response, to: request)
        if let length = request.body?.length { try await receive(.sent(length)) }
        var headers = NessHTTP.HTTPHeaders()
        for field in response.headers { headers.add(field.value, for: field.name) }
        try await receive(.head(statusCode: Int(response.status.code), headers: headers))
        hasHead = true
        var pieces = response.body.makeAsyncIterator()
        while true {
            let piece: ByteBuffer?
            do { piece = try await pieces.next() } catch { throw Self.map(error, hasHead: hasHead) }
            guard let piece else { return }
            // The client reads no further until `receive` returns.
            try await receive(.body(Data(buffer: piece)))
        }
    }

    private static func outgoing(_ request: HTTPRequest) throws -> HTTPClientRequest {
        var outgoing = HTTPClientRequest(url: request.url.absoluteString)
        outgoing.method = .init(rawValue: request.method.rawValue)
        for field in request.headers { outgoing.headers.add(name: field.name, value: field.value) }
        if let body = request.body {
            for field in body.headers where !request.headers.contains(field.name) {
                outgoing.headers.add(name: field.name, value: field.value)
            }
            let length = HTTPClientRequest.Body.Length.known(body.length ?? 0)
            outgoing.body = body.data.map { .bytes(ByteBuffer(bytes: $0)) } ?? .stream(BodyPieces(body: body), length: length)
        }
        if !outgoing.headers.contains(name: "Accept-Encoding") { outgoing.headers.add(name: "Accept-Encoding", value: "identity") }
        if !outgoing.headers.contains(name: "Accept") { outgoing.headers.add(name: "Accept", value: "*/*") }
        return outgoing
    }

    /// Rejects a response that the client has accepted, although its body is not what the caller requested.
    private static func check(_ response: HTTPClientResponse, to request: HTTPRequest) throws {
        func coding(_ name: String) -> String { response.headers[name].joined(separator: ",").lowercased() }
        // A caller who asks for other codings removes them itself.
        let isKnown =
            ["", "identity", "gzip", "deflate"].contains(coding("Content-Encoding"))
            || request.headers["Accept-Encoding"]?.contains("gzip") == false
        guard response.status != .switchingProtocols, isKnown, ["", "chunked"].contains(coding("Transfer-Encoding")) else {
            throw TransportError(.malformedResponse, "the server sent another protocol or coding than the request allows")
        }
    }

    /// The kind decides about retries: only an error before the connection is made may say that the server has not seen the request.
    private static func map(_ error: any Error, hasHead: Bool) -> any Error {
        if error is TransportError || error is CancellationError { return error }
        if let code = (error as? IOError)?.errnoCode {
            if code == ECONNREFUSED { return TransportError(.cannotConnect, "the connection was refused", underlying: error) }
            return TransportError(.connectionLost, "the connection was lost", underlying: error)
        }
        if error is NIOConnectionError { return TransportError(.cannotConnect, "the connection could not be made", underlying: error) }
        if error is NIOSSLError || error is NIOSSLExtraError || error is BoringSSLError {
            return TransportError(hasHead ? .truncated : .tls, "TLS failed", underlying: error)
        }
        if error is HTTPParserError {
            return TransportError(
                hasHead ? .truncated : .malformedResponse, "the server did not send a valid HTTP response", underlying: error)
        }
        let known = error as? HTTPClientError
        if known == .cancelled { return CancellationError() }
        if known == .connectTimeout { return TransportError(.cannotConnect, "the connection could not be made", underlying: error) }
        if known == .tlsHandshakeTimeout { return TransportError(.tls, "TLS failed", underlying: error) }
        if known == .invalidURL || known == .emptyHost || known == .emptyScheme {
            return TransportError(.invalidRequest, "the URL cannot be used", underlying: error)
        }
        return TransportError(hasHead ? .truncated : .connectionLost, "the connection was lost", underlying: error)
    }
}

/// The body of a request, piece by piece.
private struct BodyPieces: AsyncSequence, Sendable {
    let body: HTTPBody

    struct AsyncIterator: AsyncIteratorProtocol {
        let reader: HTTPBodyReader

        mutating func next() async throws -> ByteBuffer? {
            let data = try reader.read(upTo: 64 << 10)
            return data.isEmpty ? nil : ByteBuffer(bytes: data)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: body.makeReader()) }
}
