import Foundation

extension HTTPResponse {
    /// Makes the value of a typed result: the content itself for `String` and `Data`, and the decoded JSON for every other type.
    /// - Parameter type: The type. For an `Optional`, an empty body gives `nil`.
    /// - Throws: `NessError.Kind.decoding`, which contains this response.
    func value<Value: Decodable>(of type: Value.Type) throws -> Value {
        if let raw = type as? any RawContent.Type, let value = raw.makeContent(of: self) as? Value { return value }
        return try parseJSONBody(type)
    }
}

/// A type whose value as a typed result is the content itself, without a decoder.
protocol RawContent {
    /// Returns the content of a response.
    static func makeContent(of response: HTTPResponse) -> Self
}

extension String: RawContent {
    static func makeContent(of response: HTTPResponse) -> String { response.text }
}

extension Data: RawContent {
    static func makeContent(of response: HTTPResponse) -> Data { response.body }
}

extension Optional: RawContent where Wrapped: RawContent {
    static func makeContent(of response: HTTPResponse) -> Wrapped? { response.body.isEmpty ? nil : Wrapped.makeContent(of: response) }
}
