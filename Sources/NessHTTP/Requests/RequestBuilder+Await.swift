import Foundation

/// Methods that send the request and wait for the result, without a promise. Canceling the waiting task drops the request.
extension RequestBuilder {
    /// Sends the request and waits for the response. A response with any status is a result, unless a validator rejects it: see
    /// `validate()`.
    ///
    /// ```swift
    /// let response = try await ness.get("users/1").validate().response()
    /// print(response.statusCode, response.headers["ETag"] ?? "no version")
    /// ```
    /// - Returns: The response with its whole body.
    /// - Throws: The error of `dataRequest()`. If the task was canceled, `NessError.Kind.dropped`.
    @discardableResult
    public func response() async throws -> HTTPResponse { try await awaited { $0 } }

    /// Sends the request and decodes the response as JSON, like `dataRequest(decoding:)`. `String` and `Data` are the body itself.
    ///
    /// ```swift
    /// let user = try await ness.get("users", id).decoded(as: User.self)
    /// ```
    /// - Parameter type: The type to decode, which may be inferred. For an `Optional`, an empty body, as with 204, gives `nil`.
    /// - Returns: The value.
    /// - Throws: The error of `dataRequest(decoding:)`. If the task was canceled, `NessError.Kind.dropped`.
    public func decoded<Value: Decodable & Sendable>(as type: Value.Type = Value.self) async throws -> Value {
        try await value(.decoded(type))
    }

    /// Sends the request and decodes the response with a custom decoder, like `dataRequest(decodedBy:)`.
    /// - Parameter decoder: The decoder. It runs off the main thread.
    /// - Returns: The value.
    /// - Throws: The error of `dataRequest(decodedBy:)`. If the task was canceled, `NessError.Kind.dropped`.
    public func decoded<Decoder: ResponseDecoder>(by decoder: Decoder) async throws -> Decoder.Decoded where Decoder.Decoded: Sendable {
        try await value(.decoded(by: decoder))
    }

    /// Sends the request and decodes the response like `decoded(as:)`, but also returns the response.
    /// - Parameter type: The type to decode, which may be inferred. For an `Optional`, an empty body, as with 204, gives `nil`.
    /// - Returns: The value together with its response.
    /// - Throws: The error of `dataRequest(decoding:)`. If the task was canceled, `NessError.Kind.dropped`.
    public func decodedResponse<Value: Decodable & Sendable>(as type: Value.Type = Value.self) async throws -> Decoded<Value> {
        try await value(.decoded(type)) { Decoded(value: $0, response: $1) }
    }

    /// Sends the request and waits for the body as a string. The status must be 2xx.
    /// - Returns: The string, decoded from `HTTPResponse.textEncoding`; empty without a body.
    /// - Throws: The error of `dataRequest(decoding:)`. If the task was canceled, `NessError.Kind.dropped`.
    public func text() async throws -> String { try await decoded() }

    /// Sends the request and waits for the body. The status must be 2xx.
    /// - Returns: The bytes; empty without a body.
    /// - Throws: The error of `dataRequest(decoding:)`. If the task was canceled, `NessError.Kind.dropped`.
    public func data() async throws -> Data { try await decoded() }
}
