/// Decides whether a response is what the caller asked for.
///
/// Validators are asked in the order in which they were added; the first that refuses ends it. Without any, every response with any
/// status is a result.
public protocol ResponseValidator: Sendable {
    /// Judges a response. Runs off the main thread.
    /// - Parameter response: The response, whole.
    /// - Returns: The verdict.
    func validate(for response: HTTPResponse) -> ResponseValidatorResult
}

/// A validator whose refusal another attempt could not change: no retry control is asked about it.
package protocol FinalValidator: ResponseValidator {}

/// A validator's verdict.
public enum ResponseValidatorResult: Sendable, Hashable {
    /// The response is fine.
    case valid
    /// It is not.
    case invalid
    /// It is not, and why.
    case invalidWithReason(String)
}

/// Accepts some status codes.
public struct StatusCodeValidator: ResponseValidator {
    private let accepts: @Sendable (Int) -> Bool
    private let expected: String

    /// Accepts the successful ones: 200 to 299.
    public static let success = StatusCodeValidator(200..<300)

    /// Accepts one code.
    /// - Parameter statusCode: The code.
    package init(_ statusCode: Int) {
        accepts = { $0 == statusCode }
        expected = "\(statusCode)"
    }

    /// Accepts a range of codes.
    /// - Parameter statusCodes: The range, such as `200..<300`.
    package init(_ statusCodes: some RangeExpression<Int> & Sendable) {
        accepts = { statusCodes.contains($0) }
        expected = "\(statusCodes)"
    }

    /// Accepts several codes.
    /// - Parameter statusCodes: The codes.
    package init(_ statusCodes: [Int]) {
        accepts = { statusCodes.contains($0) }
        expected = "\(statusCodes)"
    }

    /// Refuses every other code.
    public func validate(for response: HTTPResponse) -> ResponseValidatorResult {
        accepts(response.statusCode) ? .valid : .invalidWithReason("the status is \(response.statusCode), not \(expected)")
    }
}

/// Wants header fields to be there, or not to be.
///
/// Names compare without regard to case. Fields that are not named do not matter.
public struct HeaderValidator: ResponseValidator {
    /// What is wanted of each named field.
    public enum Validation: Sendable, Hashable {
        /// The field's whole value is the one given.
        case shouldMatch
        /// The value is the one given, or is among several; parameters behind a `;` need not be given.
        case shouldContains
        /// The field is absent, or has another value.
        case shouldNotContains
    }

    private let validation: Validation
    private let headers: HTTPHeaders

    /// Makes a validator.
    /// - Parameters:
    ///   - validation: What is wanted of each field.
    ///   - headers: The fields.
    package init(_ validation: Validation = .shouldMatch, _ headers: HTTPHeaders) {
        self.validation = validation
        self.headers = headers
    }

    /// Refuses a response with a field that is not as it should be.
    public func validate(for response: HTTPResponse) -> ResponseValidatorResult {
        for field in headers where !accepts(field, in: response.headers) {
            let fault = response.headers.contains(field.name) ? "has another value" : "is missing"
            let shown = response.request.secrets.containsHeader(field.name) ? field.name : "\(field.name): \(field.value)"
            return .invalidWithReason(
                validation == .shouldNotContains ? "the header \(shown) is there" : "the header \(shown) \(fault)")
        }
        return .valid
    }

    private func accepts(_ field: HTTPHeaders.Field, in headers: HTTPHeaders) -> Bool {
        switch validation {
        case .shouldMatch: headers[field.name] == field.value
        case .shouldContains: contains(field, in: headers)
        case .shouldNotContains: !contains(field, in: headers)
        }
    }

    private func contains(_ field: HTTPHeaders.Field, in headers: HTTPHeaders) -> Bool {
        headers.values(for: field.name).contains { value in
            value == field.value
                || HeaderFieldValue.members(value).contains {
                    $0 == field.value || HeaderFieldValue.withoutParameters($0) == field.value
                }
        }
    }
}
