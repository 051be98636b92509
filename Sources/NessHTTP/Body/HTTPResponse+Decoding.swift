import Foundation

extension HTTPResponse {
    /// Decodes the content as JSON.
    /// - Parameters:
    ///   - type: The type to decode, usually inferred. For an `Optional`, an empty body gives `nil`.
    ///   - decoder: The decoder; `nil` for the manager's.
    /// - Returns: The value.
    /// - Throws: `NessError.Kind.decoding`, which contains this response.
    public func parseJSONBody<Value: Decodable>(_ type: Value.Type = Value.self, with decoder: JSONDecoder? = nil) throws -> Value {
        if body.isEmpty, let nothing = (Value.self as? any OptionalValue.Type)?.nothing as? Value { return nothing }
        return try decoding(as: Value.self) { data in
            // `JSONValue` and types made from it are read without `JSONDecoder`, which may take more than linear time for them.
            if let value = try JSONValue.read(Value.self, from: data) { return value }
            return try (decoder ?? request.jsonDecoder ?? JSONDecoder()).decode(Value.self, from: data)
        }
    }

    /// Decodes the content.
    /// - Parameter decoder: The decoder.
    /// - Returns: The decoded value.
    /// - Throws: `NessError.Kind.decoding`, which contains this response and the decoder's error.
    public func parseBody<Decoder: ResponseDecoder>(using decoder: Decoder) throws -> Decoder.Decoded {
        try decoding(as: Decoder.Decoded.self) { data in try decoder.decode(from: data) }
    }

    private func decoding<Value>(as type: Value.Type, _ decode: (Data) throws -> Value) throws -> Value {
        do {
            return try decode(body)
        } catch {
            let reason = body.isEmpty ? "the body is empty" : describe(error)
            let shown = "can't decode \(Value.self), \(reason)"
            throw NessError(.decoding, NessError.Context(request: request, response: self, reason: shown, underlying: error))
        }
    }

    /// Describes a decoding error in one line, with its place and its cause, but without the data. A decoder's own words may repeat a
    /// value.
    private func describe(_ error: any Error) -> String {
        func shown(_ text: String) -> String {
            redactor.redacted(text: text, about: body, contentType: headers[HeaderName.contentType])
                ?? "for a reason that is not shown, because it may repeat a secret of the body"
        }
        func path(_ context: DecodingError.Context) -> String {
            context.codingPath.isEmpty ? "" : " at " + context.codingPath.map(\.stringValue).joined(separator: ".")
        }
        guard let error = error as? DecodingError else { return shown("\(error)") }
        switch error {
        case .keyNotFound(let key, let context): return "no value for \"\(key.stringValue)\"\(path(context))"
        case .typeMismatch(let type, let context): return "not a \(type)\(path(context))"
        case .valueNotFound(let type, let context): return "null instead of a \(type)\(path(context))"
        case .dataCorrupted(let context): return shown(context.debugDescription) + path(context)
        @unknown default: return shown("\(error)")
        }
    }
}

/// `Optional` alone conforms. `ExpressibleByNilLiteral` does not serve: for `JSONValue`, `nil` means null, which an empty body is not.
private protocol OptionalValue {
    static var nothing: Self { get }
}

extension Optional: OptionalValue {
    fileprivate static var nothing: Wrapped? { nil }
}
