import Foundation

/// Converts a response to a typed value. `dataRequest(decoding:)`, `TypedRequest`, `ConnectionSpec` and polling all use it.
struct ResponseReading<Value: Sendable>: Sendable {
    /// The validator of the status. It runs before the caller's validators.
    var status: (any ResponseValidator)?
    /// The validator for a rule of the caller. It runs after the caller's validators.
    var rule: (any ResponseValidator)?
    /// True if the value is decoded from JSON. The request then has a matching `Accept`, and another `Content-Type` is rejected.
    var expectsJSON = false
    /// True if the value is made from content of any type. The request then has no `Accept`, even if the API's errors are JSON.
    var takesAnyType = false
    /// Returns true if the body of a response will be decoded.
    var isDecoded: @Sendable (HTTPResponse) -> Bool = { _ in true }
    /// Converts a response that every validator accepted.
    var parse: @Sendable (HTTPResponse) throws -> Value
}

extension ResponseReading where Value: Decodable {
    /// Requires a 2xx status, and decodes the body as JSON. `String` and `Data` are the body itself.
    static func decoded(_ type: Value.Type, with decoder: JSONDecoder?) -> ResponseReading {
        let isRaw = type is any RawContent.Type
        return ResponseReading(status: StatusCodeValidator.success, expectsJSON: !isRaw, takesAnyType: isRaw) { response in
            try response.value(of: type, with: decoder)
        }
    }
}

extension ResponseReading {
    /// Requires a 2xx status, and decodes the body with a custom decoder.
    static func decoded<Decoder: ResponseDecoder>(by decoder: Decoder) -> ResponseReading where Decoder.Decoded == Value {
        ResponseReading(status: StatusCodeValidator.success, takesAnyType: true) { try $0.parseBody(using: decoder) }
    }
}

extension ResponseReading where Value == Void {
    /// Requires a 2xx status, and ignores the body.
    static var nothing: ResponseReading { ResponseReading(status: StatusCodeValidator.success) { _ in } }
}

extension RequestBuilder {
    /// Sends the request, and converts the response to a value.
    /// - Parameters:
    ///   - reading: The conversion.
    ///   - kind: The kind of request.
    ///   - errorType: The type of the API's errors; `nil` for the manager's.
    ///   - retryControl: The retry policy; `nil` for that of `set(retry:)`, else the manager's; `.never` for no retries.
    ///   - decoder: The decoder for the API's errors; `nil` for the manager's.
    func valueRequest<Value: Sendable>(
        _ reading: ResponseReading<Value>, _ kind: RequestKind = .data, decodingErrors errorType: (any DecodableError.Type)?,
        with retryControl: (any RetryControl)?, using decoder: JSONDecoder? = nil
    ) -> RequestPromise<Value> {
        let call = self.reading(reading, decodingErrors: errorType).makeCall(kind, retryControl) {
            $0.parseError = errorReader(errorType, decoder)
        }
        return RequestPromise(call, by: sender, value: reading.parse)
    }

    /// Sends the request and waits for its value, like `valueRequest(_:_:decodingErrors:with:using:)`.
    func value<Value: Sendable>(
        _ reading: ResponseReading<Value>, decodingErrors errorType: (any DecodableError.Type)?, with retryControl: (any RetryControl)?,
        using decoder: JSONDecoder? = nil
    ) async throws -> Value {
        try await self.reading(reading, decodingErrors: errorType)
            .awaited(retryControl, parseError: errorReader(errorType, decoder), reading.parse)
    }

    /// Returns the request with what a conversion needs: its validators and `Accept`.
    private func reading<Value>(_ reading: ResponseReading<Value>, decodingErrors errorType: (any DecodableError.Type)?) -> RequestBuilder {
        let errorType = errorType ?? (decodeError == nil ? sender.defaults.decodingErrors : nil)
        let checksJSON = checksContentType ?? sender.defaults.checksContentType
        var builder = self
        if let status = reading.status { builder.validators.insert(status, at: 0) }
        if let rule = reading.rule { builder.validators.append(rule) }
        if reading.expectsJSON || (errorType != nil && !reading.takesAnyType) {
            builder = builder.accepting(errorType == nil ? "application/json" : "application/json, application/problem+json;q=0.9")
        }
        if reading.expectsJSON, checksJSON {
            builder.validators.append(JSONTypeValidator(value: "\(Value.self)", isDecoded: reading.isDecoded))
        }
        return builder
    }

    /// Sets `Accept`, unless the request or the manager sets it.
    func accepting(_ types: String) -> RequestBuilder {
        if headers.contains(HeaderName.accept) || sender.defaults.hasAccept { return self }
        return with { $0.headers[HeaderName.accept] = types }
    }

    /// Makes a closure that decodes the API's own errors: by the type, or else by the request's decoder, or else by the manager's type.
    /// - Parameters:
    ///   - type: The type that the caller named for this call; `nil` for none.
    ///   - decoder: The decoder for JSON; `nil` for the manager's.
    func errorReader(_ type: (any DecodableError.Type)? = nil, _ decoder: JSONDecoder? = nil) -> ErrorReader? {
        if type == nil, let decodeError { return decodeError }
        guard let type = type ?? sender.defaults.decodingErrors else { return nil }
        return jsonErrorReader(type, checksJSON: checksContentType ?? sender.defaults.checksContentType, decoder)
    }
}

/// Makes a closure that decodes an API's own errors from JSON.
/// - Parameters:
///   - type: The type of the errors.
///   - checksJSON: True to ignore a body whose `Content-Type` is not JSON.
///   - decoder: The decoder; `nil` for the manager's.
private func jsonErrorReader<Failure: DecodableError>(_ type: Failure.Type, checksJSON: Bool, _ decoder: JSONDecoder?) -> ErrorReader {
    { response in
        if response.body.isEmpty || (checksJSON && JSONTypeValidator(value: "\(type)").validate(for: response) != .valid) { return nil }
        return try? response.parseJSONBody(type, with: decoder)
    }
}
