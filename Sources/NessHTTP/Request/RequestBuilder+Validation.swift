/// The setters of validators. Validators are asked in the order in which they were added.
extension RequestBuilder {
    /// Adds a validator.
    /// - Parameter validator: The validator.
    public func validate(using validator: some ResponseValidator) -> RequestBuilder { with { $0.validators.append(validator) } }

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

    /// Requires header fields to contain values: see `HeaderValidator.Validation.shouldContains`.
    /// - Parameter headers: The fields and their values.
    public func validate(shouldHaveHeaders headers: HTTPHeaders) -> RequestBuilder { validate(.shouldContains, headers) }

    /// Requires header fields to meet a condition.
    /// - Parameters:
    ///   - validation: The condition for each field.
    ///   - headers: The fields and their values.
    public func validate(_ validation: HeaderValidator.Validation, _ headers: HTTPHeaders) -> RequestBuilder {
        validate(using: HeaderValidator(validation, headers))
    }
}
