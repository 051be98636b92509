import Foundation

/// Sends the request and waits for its result. Each method has the result of its promise's `.value`: canceling the waiting task drops the
/// request, and every failure is the promise's error.
extension RequestBuilder {
    /// Sends the request and waits for the response. Any status is a result, unless a validator rejects it: see `validate()`.
    ///
    /// ```swift
    /// let response = try await ness.get("users/1").validate().response()
    /// print(response.statusCode, response.headers["ETag"] ?? "no version")
    /// ```
    /// - Parameter retryControl: The control that decides on further attempts; `nil` for that of `set(retry:)` or else the manager's,
    ///   `.never` for none.
    /// - Returns: The response with its whole body.
    /// - Throws: The error of `dataRequest(with:)`. If the task was canceled, `NessError.dropped`.
    @discardableResult
    public func response(with retryControl: (any RetryControl)? = nil) async throws -> HTTPResponse {
        try await awaited(retryControl) { $0 }
    }

    /// Sends the request and decodes the response as JSON, like `dataRequest(decoding:)`. `String` and `Data` are the body itself.
    ///
    /// ```swift
    /// let user = try await ness.get("users", id).decoded(as: User.self)
    /// ```
    /// - Parameters:
    ///   - type: The type to decode, which may be inferred. For an `Optional`, an empty body, as with 204, gives `nil`.
    ///   - errorType: The type of the API's errors; `nil` for the manager's `decodingErrors`.
    ///   - retryControl: The control that decides on further attempts; `nil` for that of `set(retry:)` or else the manager's, `.never` for
    ///     none.
    ///   - decoder: The decoder for value and error; `nil` for the manager's.
    /// - Returns: The value.
    /// - Throws: The error of `dataRequest(decoding:)`. If the task was canceled, `NessError.dropped`.
    public func decoded<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, decodingErrors errorType: (any DecodableError.Type)? = nil,
        with retryControl: (any RetryControl)? = nil, using decoder: JSONDecoder? = nil
    ) async throws -> Value {
        try await value(.decoded(type, with: decoder), decodingErrors: errorType, with: retryControl, using: decoder)
    }

    /// Sends the request and decodes the response with a decoder of the caller, like `dataRequest(decodedBy:)`.
    /// - Parameters:
    ///   - decoder: The decoder. It runs off the main thread.
    ///   - errorType: The type of the API's errors, which are JSON; `nil` for the manager's `decodingErrors`.
    ///   - retryControl: The control that decides on further attempts; `nil` for that of `set(retry:)` or else the manager's, `.never` for
    ///     none.
    /// - Returns: The value.
    /// - Throws: The error of `dataRequest(decodedBy:)`. If the task was canceled, `NessError.dropped`.
    public func decoded<Decoder: ResponseDecoder>(
        by decoder: Decoder, decodingErrors errorType: (any DecodableError.Type)? = nil, with retryControl: (any RetryControl)? = nil
    ) async throws -> Decoder.Decoded where Decoder.Decoded: Sendable {
        try await value(.decoded(by: decoder), decodingErrors: errorType, with: retryControl)
    }

    /// Sends the request, and decodes the response like `decoded(as:)`.
    /// - Parameters:
    ///   - type: The type to decode, which may be inferred. For an `Optional`, an empty body, as with 204, gives `nil`.
    ///   - errorType: The type of the API's errors; `nil` for the manager's `decodingErrors`.
    ///   - retryControl: The control that decides on further attempts; `nil` for that of `set(retry:)` or else the manager's, `.never` for
    ///     none.
    ///   - decoder: The decoder for value and error; `nil` for the manager's.
    /// - Returns: The value together with its response.
    /// - Throws: The error of `dataRequest(decoding:)`. If the task was canceled, `NessError.dropped`.
    public func decodedResponse<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, decodingErrors errorType: (any DecodableError.Type)? = nil,
        with retryControl: (any RetryControl)? = nil, using decoder: JSONDecoder? = nil
    ) async throws -> Decoded<Value> {
        try await dataRequest(decoding: type, decodingErrors: errorType, with: retryControl, using: decoder).withResponse().value
    }

    /// Sends the request and waits for the body as text. The status must be 2xx.
    /// - Parameter retryControl: The control that decides on further attempts; `nil` for that of `set(retry:)` or else the manager's,
    ///   `.never` for none.
    /// - Returns: The text, in the character set of the `Content-Type`; empty without a body: see `HTTPResponse.text`.
    /// - Throws: The error of `dataRequest(decoding:)`. If the task was canceled, `NessError.dropped`.
    public func text(with retryControl: (any RetryControl)? = nil) async throws -> String { try await decoded(with: retryControl) }

    /// Sends the request and waits for the body. The status must be 2xx.
    /// - Parameter retryControl: The control that decides on further attempts; `nil` for that of `set(retry:)` or else the manager's,
    ///   `.never` for none.
    /// - Returns: The bytes; empty without a body.
    /// - Throws: The error of `dataRequest(decoding:)`. If the task was canceled, `NessError.dropped`.
    public func data(with retryControl: (any RetryControl)? = nil) async throws -> Data { try await decoded(with: retryControl) }
}
