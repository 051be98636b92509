/// Accepts responses of certain media types, with wildcards (RFC 9110, 12.5.1).
///
/// A response without content passes, because it has no type.
struct ContentTypeValidator: ResponseValidator {
    /// The accepted types in lower case, without parameters.
    private let accepted: [String]

    /// Makes a validator.
    /// - Parameter accepted: The media types, such as `image/png`, `image/*` or `*/*`.
    init(_ accepted: [String]) { self.accepted = accepted.map { HeaderFieldValue.withoutParameters($0).lowercased() } }

    /// Rejects a response of another type, and content without a type.
    func validate(for response: HTTPResponse) -> ResponseValidatorResult {
        if hasNoContent(response) || accepted.contains("*/*") { return .valid }
        let shown = accepted.joined(separator: ", ")
        guard let type = response.headers.mediaType else { return .invalidWithReason("no Content-Type, expected \(shown)") }
        if accepted.contains(where: { Self.matches(type, $0) }) { return .valid }
        return .invalidWithReason("Content-Type \(type.prefix(100)), expected \(shown)")
    }

    private func hasNoContent(_ response: HTTPResponse) -> Bool {
        [204, 205, 304].contains(response.statusCode) || response.headers[HeaderName.contentLength] == "0"
    }

    private static func matches(_ type: String, _ pattern: String) -> Bool {
        pattern.hasSuffix("/*") ? type.hasPrefix(pattern.dropLast()) : type == pattern
    }
}
