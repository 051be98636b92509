import Foundation
import HTTPTypes
import NessHTTP

extension Ness {
    /// Sends a request of swift-http-types with a body in memory, and streams the body of the response.
    ///
    /// ```swift
    /// let (response, body) = try await ness.send(request)
    /// for try await chunk in body { … }
    /// ```
    ///
    /// The request passes through the manager like any other: credential, retries, limits, redirects. A URL inside the base URL gets what
    /// the manager adds there. A `Content-Length` is the length of the body. Other fields about the connection, such as `Host` and
    /// `Transfer-Encoding`, make the request fail with `NessError.Kind.invalidRequest`.
    /// - Parameters:
    ///   - request: The request, with scheme and authority.
    ///   - body: The body; `nil` for none.
    ///   - configure: Changes the request before it is sent, for example its tags or its deadline.
    /// - Returns: The head of the response, and its body as it arrives. Every status is a response, not an error, unless a validator of the
    ///   manager rejects it. Read the body to its end or drop the sequence: until then the connection is in use.
    /// - Throws: `ConversionError` for a request without a URL, and `NessError`.
    public func send(
        _ request: HTTPTypes.HTTPRequest, body: Data? = nil, _ configure: (RequestBuilder) -> RequestBuilder = { $0 }
    ) async throws -> (HTTPTypes.HTTPResponse, ResponseSequence<Data>) {
        let builder = try builder(for: request)
        return try await Self.stream(configure(body.map { builder.set(body: $0) } ?? builder))
    }

    /// Sends a request of swift-http-types with a streamed body, and streams the body of the response: the shape of a client transport of
    /// swift-openapi-runtime.
    /// - Parameters:
    ///   - request: The request, with scheme and authority.
    ///   - chunks: The body. It can be sent only once, so the request is not retried once a chunk has been sent.
    ///   - length: The number of bytes of the body; `nil` for that of the `Content-Length`, or an unknown one.
    ///   - configure: Changes the request before it is sent, for example its tags or its deadline.
    /// - Returns: The head of the response, and its body as it arrives: see `send(_:body:_:)`.
    /// - Throws: `ConversionError` for a request without a URL, and `NessError`.
    public func send<Chunks: AsyncSequence & Sendable>(
        _ request: HTTPTypes.HTTPRequest, streamBody chunks: Chunks, length: Int64? = nil,
        _ configure: (RequestBuilder) -> RequestBuilder = { $0 }
    ) async throws -> (HTTPTypes.HTTPResponse, ResponseSequence<Data>) where Chunks.Element == Data {
        let length = length ?? request.headerFields[.contentLength].flatMap { Int64($0) }
        return try await Self.stream(configure(builder(for: request).set(streamBody: chunks, length: length)))
    }

    private func builder(for request: HTTPTypes.HTTPRequest) throws -> RequestBuilder {
        var fields = request.headerFields
        // Ness sends the length of the body itself.
        fields[.contentLength] = nil
        return httpRequest(.custom(request.method.rawValue), withUrl: try request.nessURL).set(headers: HTTPHeaders(fields))
    }

    private static func stream(_ request: RequestBuilder) async throws -> (HTTPTypes.HTTPResponse, ResponseSequence<Data>) {
        let result = try await request.streamRequest().value
        return (HTTPTypes.HTTPResponse(result.message), result.chunks)
    }
}
