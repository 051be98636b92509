/// Rejects a response whose `Content-Type` is not JSON. All typed results use this validator.
///
/// A response without a body, or without a `Content-Type`, passes.
struct JSONTypeValidator: ResponseValidator, RepetitionSource {
    /// The name of the type to decode, for the error.
    let value: String
    /// True if the body is a stream of JSON values, one per line.
    var isStream = false
    /// Returns true if the body of a response will be decoded.
    var isDecoded: @Sendable (HTTPResponse) -> Bool = { _ in true }

    var repetition: Repetition { .never("the server sends another type than JSON") }

    func validate(for response: HTTPResponse) -> ResponseValidatorResult {
        let hasNoBody = response.body.isEmpty && !isStream
        guard !hasNoBody, response.statusCode != 204, isDecoded(response), let found = response.headers.mediaType,
            !response.headers.isJSON, !(isStream && Self.lineTypes.contains(found))
        else { return .valid }
        let expected = isStream ? "application/x-ndjson, application/json" : "application/json, text/json"
        return .invalidWithReason(
            "can't decode \(value), Content-Type \(found.prefix(100)), expected \(expected) or a type that ends in +json")
    }

    /// The media types in use for JSON values, one per line. None of them is registered.
    private static let lineTypes: Set<String> = [
        "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/jsonlines",
        "application/json-lines", "application/stream+json",
    ]
}
