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
    static func decoded(_ type: Value.Type) -> ResponseReading {
        let isRaw = type is any RawContent.Type
        return ResponseReading(status: StatusCodeValidator.success, expectsJSON: !isRaw, takesAnyType: isRaw) { response in
            try response.value(of: type)
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
    func valueRequest<Value: Sendable>(_ reading: ResponseReading<Value>) -> RequestPromise<Value> {
        RequestPromise(self.reading(reading).makeCall(.data), by: sender, value: reading.parse)
    }

    /// Sends the request and waits for its value, like `valueRequest(_:)`.
    func value<Value: Sendable>(_ reading: ResponseReading<Value>) async throws -> Value {
        try await self.reading(reading).awaited(reading.parse)
    }

    /// Sends the request and waits for its value with the response.
    func value<Value: Sendable, Result: Sendable>(
        _ reading: ResponseReading<Value>, _ make: @escaping @Sendable (Value, HTTPResponse) -> Result
    ) async throws -> Result {
        try await self.reading(reading).awaited { make(try reading.parse($0), $0) }
    }

    /// Returns the request with the validators and the `Accept` field that a conversion needs.
    private func reading<Value>(_ reading: ResponseReading<Value>) -> RequestBuilder {
        var builder = self
        if let status = reading.status { builder.validators.insert(status, at: 0) }
        if let rule = reading.rule { builder.validators.append(rule) }
        if reading.expectsJSON || (decodesJSONErrors && !reading.takesAnyType) {
            builder = builder.accepting(decodesJSONErrors ? "application/json, application/problem+json;q=0.9" : "application/json")
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

    /// True if a response whose `Content-Type` is not JSON is rejected.
    var checksJSON: Bool { checksContentType ?? sender.defaults.checksContentType }

    /// True if the API's errors are decoded from JSON.
    var decodesJSONErrors: Bool {
        if case .json = errorDecoding ?? sender.defaults.errorDecoding { true } else { false }
    }

    /// Decodes the API's own errors. `nil` without a decoding for them.
    var errorReader: ErrorReader? {
        switch errorDecoding ?? sender.defaults.errorDecoding {
        case .json(let type): jsonErrorReader(type, checksJSON: checksJSON)
        case .custom(let reader): reader
        case nil: nil
        }
    }
}

/// Makes a closure that decodes an API's own errors from JSON.
/// - Parameters:
///   - type: The type of the errors.
///   - checksJSON: True to ignore a body whose `Content-Type` is not JSON.
private func jsonErrorReader<Failure: DecodableError>(_ type: Failure.Type, checksJSON: Bool) -> ErrorReader {
    { response in
        if response.body.isEmpty || (checksJSON && JSONTypeValidator(value: "\(type)").validate(for: response) != .valid) { return nil }
        return try? response.parseJSONBody(type)
    }
}
