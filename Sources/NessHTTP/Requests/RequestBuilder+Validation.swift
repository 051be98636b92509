/// The setters of validators. Validators run in the order in which they were added.
extension RequestBuilder {
    /// Adds a validator.
    /// - Parameter validator: The validator.
    public func validate(using validator: some ResponseValidator) -> RequestBuilder { with { $0.validators.append(validator) } }

    /// Requires a 2xx status.
    public func validate() -> RequestBuilder { validate(using: StatusCodeValidator.success) }

    /// Requires one of several media types. A response without content passes: its status is 204, 205 or 304, or its length is 0.
    ///
    /// ```swift
    /// ness.get("cats/1/photo")
    ///     .validate(contentTypes: ["image/*", "application/pdf"])
    ///     .downloadRequest(intoFolder: folder)
    /// ```
    /// - Parameter contentTypes: The media types without parameters, in any case. `image/*` stands for all types of images, and `*/*` for
    ///   any type. Other content without a `Content-Type` passes only with `*/*`.
    public func validate(contentTypes: [String]) -> RequestBuilder { validate(using: ContentTypeValidator(contentTypes)) }

    /// Adds a closure that judges the response. A thrown error rejects the response: the request fails with `NessError.Kind.validation`,
    /// whose `underlying` is the thrown error. A retry policy may then retry.
    ///
    /// ```swift
    /// let user = try await ness.get("users/1")
    ///     .validate { response in
    ///         if response.headers["API-Version"] != "2" { throw OldServer() }
    ///     }
    ///     .decoded(as: User.self)
    /// ```
    /// - Parameter check: Takes the response and throws to reject it. Runs off the main thread, once or more for each attempt. The body of
    ///   a download or a stream is empty. The description of `NessError` contains the error's description, so that must not contain a
    ///   secret.
    public func validate(_ check: @escaping @Sendable (HTTPResponse) throws -> Void) -> RequestBuilder {
        validate(
            using: ClosureValidator { response in
                do {
                    try check(response)
                    return .valid
                } catch {
                    return .invalidBecauseOf(error)
                }
            })
    }

    /// Requires one status.
    /// - Parameter statusCode: The status code.
    public func validate(statusCode: Int) -> RequestBuilder { validate(using: StatusCodeValidator(statusCode)) }

    /// Requires a status in a range.
    /// - Parameter statusCodes: The range, such as `200..<300`.
    public func validate(statusCodes: some RangeExpression<Int> & Sendable) -> RequestBuilder {
        validate(using: StatusCodeValidator(statusCodes))
    }

    /// Requires one of several statuses.
    /// - Parameter statusCodes: The status codes.
    public func validate(statusCodes: [Int]) -> RequestBuilder { validate(using: StatusCodeValidator(statusCodes)) }

    /// Requires header fields to contain values: see `HeaderValidation.shouldContains`.
    /// - Parameter headers: The fields and their values.
    public func validate(shouldHaveHeaders headers: HTTPHeaders) -> RequestBuilder { validate(.shouldContains, headers) }

    /// Requires header fields to meet a condition.
    /// - Parameters:
    ///   - validation: The condition for each field.
    ///   - headers: The fields and their values.
    public func validate(_ validation: HeaderValidation, _ headers: HTTPHeaders) -> RequestBuilder {
        validate(using: HeaderValidator(validation, headers))
    }
}

/// Judges by a closure.
struct ClosureValidator: ResponseValidator {
    let judge: @Sendable (HTTPResponse) -> ResponseValidatorResult

    func validate(for response: HTTPResponse) -> ResponseValidatorResult { judge(response) }
}
