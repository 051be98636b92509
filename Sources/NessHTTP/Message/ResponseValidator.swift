/// Decides whether a response counts as a result.
///
/// Without a validator, every response is a result, regardless of its status. `RequestBuilder` has `validate(statusCodes:)` and
/// `validate(shouldHaveHeaders:)` for the common conditions. Write a validator for a condition of your server, and add it with
/// `validate(using:)`.
///
/// ```swift
/// /// Rejects the responses of a server that speaks another version of the API.
/// struct VersionValidator: ResponseValidator {
///     let version: String
///
///     func validate(for response: HTTPResponse) -> ResponseValidatorResult {
///         let found = response.headers["API-Version"] ?? "none"
///         return found == version
///             ? .valid : .invalidWithReason("version \(found), not \(version)")
///     }
/// }
///
/// let user = try await ness.get("users/1")
///     .validate(using: VersionValidator(version: "2"))
///     .decoded(as: User.self)
/// ```
///
/// **A rejection** fails the attempt with `NessError.Kind.validation`, which holds the response and the reason. A retry policy may then
/// retry. The reason becomes part of the error's description, so it must not contain a secret.
///
/// **When it is called.** For each attempt, in the order in which the validators were added, up to the first that rejects it. A response
/// from the cache is judged like any other. Callers who share one exchange each have their own validators. For a download or a stream, Ness
/// calls the validator when the head has arrived, so `body` is empty. It may call it again for the same response, for a download when the
/// file is complete.
///
/// **Threads.** `validate(for:)` runs off the main thread, and for several requests at the same time. It must return soon, and cannot
/// suspend.
///
/// **Testing.** Call it with a response that you make:
///
/// ```swift
/// let request = HTTPRequest(url: url)
/// let response = HTTPResponse(
///     statusCode: 200, headers: ["API-Version": "1"], request: request)
/// #expect(VersionValidator(version: "2").validate(for: response) != .valid)
/// ```
public protocol ResponseValidator: Sendable {
    /// Judges a response. Runs off the main thread.
    /// - Parameter response: The response. Its body is empty for a download or a stream.
    /// - Returns: The verdict.
    func validate(for response: HTTPResponse) -> ResponseValidatorResult
}

/// The verdict of a validator.
public enum ResponseValidatorResult: Sendable, Equatable {
    /// The response is a result.
    case valid
    /// The response is rejected. The error names the validator's type.
    case invalid
    /// The response is rejected, for a reason that becomes part of the error's description.
    case invalidWithReason(String)
    /// The response is rejected because of an error, which becomes the `underlying` of `NessError.Kind.validation`. Its description becomes
    /// part of the error's description.
    case invalidBecauseOf(any Error)

    /// Compares verdicts. Two errors are equal if their types have the same name and their descriptions are equal.
    public static func == (left: ResponseValidatorResult, right: ResponseValidatorResult) -> Bool {
        switch (left, right) {
        case (.valid, .valid), (.invalid, .invalid): true
        case (.invalidWithReason(let left), .invalidWithReason(let right)): left == right
        case (.invalidBecauseOf(let left), .invalidBecauseOf(let right)):
            "\(type(of: left))" == "\(type(of: right))" && "\(left)" == "\(right)"
        default: false
        }
    }
}

/// Accepts responses with certain status codes.
public struct StatusCodeValidator: ResponseValidator {
    private let accepts: @Sendable (Int) -> Bool
    private let expected: String

    /// True if a 206 is rejected unless the request asked for a part with `Range`.
    private var refusesUnaskedParts = false

    /// Accepts 200 to 299. A part (206) is accepted only if the request asked for one with `Range` (RFC 9110, 15.3.7).
    public static let success: StatusCodeValidator = {
        var validator = StatusCodeValidator(200..<300)
        validator.refusesUnaskedParts = true
        return validator
    }()

    /// Accepts one status code.
    /// - Parameter statusCode: The code.
    package init(_ statusCode: Int) {
        accepts = { $0 == statusCode }
        expected = "\(statusCode)"
    }

    /// Accepts a range of status codes.
    /// - Parameter statusCodes: The range, such as `200..<300`.
    package init(_ statusCodes: some RangeExpression<Int> & Sendable) {
        accepts = { statusCodes.contains($0) }
        expected = "\(statusCodes)"
    }

    /// Accepts several status codes.
    /// - Parameter statusCodes: The codes.
    package init(_ statusCodes: [Int]) {
        accepts = { statusCodes.contains($0) }
        expected = "\(statusCodes)"
    }

    /// Rejects every response with another status code.
    public func validate(for response: HTTPResponse) -> ResponseValidatorResult {
        if refusesUnaskedParts, response.statusCode == 206, !response.request.headers.contains(HeaderName.range) {
            return .invalidWithReason("status 206, but the request has no Range")
        }
        return accepts(response.statusCode) ? .valid : .invalidWithReason("status \(response.statusCode), expected \(expected)")
    }
}

/// The condition that each header field of `RequestBuilder.validate(_:_:)` must meet.
public enum HeaderValidation: Sendable, Hashable {
    /// The field's whole value equals the given value.
    case shouldMatch
    /// The given value is the field's value, or one of its comma-separated members. Parameters after a `;` may be left out.
    case shouldContains
    /// The given value is neither the field's value nor one of its members. An absent field meets the condition.
    case shouldNotContains
}

/// Requires header fields to be present with a value, or to be absent.
///
/// Field names are compared without regard to case. Fields that the validator does not name are not checked.
package struct HeaderValidator: ResponseValidator {
    private let validation: HeaderValidation
    private let headers: HTTPHeaders

    /// Makes a validator.
    /// - Parameters:
    ///   - validation: The condition for each field.
    ///   - headers: The fields and their values.
    package init(_ validation: HeaderValidation, _ headers: HTTPHeaders) {
        self.validation = validation
        self.headers = headers
    }

    /// Rejects a response with a field that does not meet the condition.
    package func validate(for response: HTTPResponse) -> ResponseValidatorResult {
        for field in headers where !accepts(field, in: response.headers) {
            let shown = response.request.secrets.containsHeader(field.name) ? field.name : "\(field.name): \(field.value)"
            if validation == .shouldNotContains { return .invalidWithReason("unexpected header \(shown)") }
            let fault = response.headers.contains(field.name) ? "wrong value of the header \(field.name)" : "missing header"
            return .invalidWithReason("\(fault), expected \(shown)")
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

extension HTTPResponse {
    /// Throws `NessError.Kind.validation` if a validator rejects this response.
    func judge(by validator: any ResponseValidator) throws {
        // A 304 to a conditional download. The file was judged by the validators of the download that saved it.
        if statusCode == 304, file != nil { return }
        var reason: String
        var cause: (any Error)?
        switch validator.validate(for: self) {
        case .valid: return
        case .invalid: reason = "rejected by \(type(of: validator))"
        case .invalidWithReason(let text): reason = text
        case .invalidBecauseOf(let error): (reason, cause) = ("the response was rejected: \(error)", error)
        }
        if statusCode == 407 { reason += "; \(proxy.map { "the proxy \($0)" } ?? "a proxy") requires credentials" }
        var context = NessError.Context(request: request, response: self, reason: reason, underlying: cause)
        context.repetition = (validator as? any RepetitionSource)?.repetition
        throw NessError(.validation, context)
    }
}
