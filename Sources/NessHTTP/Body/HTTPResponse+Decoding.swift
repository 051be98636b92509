import Foundation

extension HTTPResponse {
    /// Decodes the content as JSON.
    /// - Parameters:
    ///   - type: What to decode; usually inferred. An `Optional` is nil where the body is empty.
    ///   - decoder: What decodes it; the manager's unless given.
    /// - Returns: The value.
    /// - Throws: `NessError.decoding`, which holds this response.
    public func parseJSONBody<Value: Decodable>(_ type: Value.Type = Value.self, with decoder: JSONDecoder? = nil) throws -> Value {
        if body.isEmpty, let nothing = (Value.self as? any OptionalValue.Type)?.nothing as? Value { return nothing }
        return try decoding(as: Value.self) { data in
            // In linear time, which JSONDecoder does not promise them.
            if let value = try JSONValue.read(Value.self, from: data) { return value }
            return try (decoder ?? jsonDecoder ?? JSONDecoder()).decode(Value.self, from: data)
        }
    }

    /// Decodes the content.
    /// - Parameter decoder: What decodes it.
    /// - Returns: What the decoder makes of it.
    /// - Throws: `NessError.decoding`, which holds this response and the decoder's error.
    public func parseBody<Decoder: ResponseDecoder>(using decoder: Decoder) throws -> Decoder.Decoded {
        try decoding(as: Decoder.Decoded.self) { data in try decoder.decode(from: data) }
    }

    private func decoding<Value>(as type: Value.Type, _ decode: (Data) throws -> Value) throws -> Value {
        do {
            return try decode(body)
        } catch {
            let reason = body.isEmpty ? "the body is empty" : describe(error)
            throw NessError.decoding(
                NessError.Context(request: request, response: self, reason: "can't decode \(Value.self): \(reason)", underlying: error))
        }
    }

    /// A decoding error in one line: where, and what was the matter, without the data. A decoder's own words may repeat a value.
    private func describe(_ error: any Error) -> String {
        func shown(_ text: String) -> String { request.secrets.redacted(text: text, about: body) }
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

/// An `Optional`, and nothing else: other types can be written as `nil` too, and `JSONValue` means null by it, which an empty body is not.
private protocol OptionalValue {
    static var nothing: Self { get }
}

extension Optional: OptionalValue {
    fileprivate static var nothing: Wrapped? { nil }
}
