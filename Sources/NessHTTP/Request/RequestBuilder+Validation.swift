/// The validators, which are asked in the order in which they were added.
extension RequestBuilder {
    /// Adds a validator.
    /// - Parameter validator: The validator.
    public func validate(using validator: some ResponseValidator) -> RequestBuilder { with { $0.validators.append(validator) } }

    /// Wants one status.
    /// - Parameter statusCode: The status code.
    public func validate(statusCode: Int) -> RequestBuilder { validate(using: StatusCodeValidator(statusCode)) }

    /// Wants a status in a range.
    /// - Parameter statusCodes: The range, such as `200..<300`.
    public func validate(statusCodes: some RangeExpression<Int> & Sendable) -> RequestBuilder {
        validate(using: StatusCodeValidator(statusCodes))
    }

    /// Wants one of several statuses.
    /// - Parameter statusCodes: The status codes.
    public func validate(statusCodes: [Int]) -> RequestBuilder { validate(using: StatusCodeValidator(statusCodes)) }

    /// Wants header fields to be there, as `.shouldContains` does.
    /// - Parameter headers: The fields.
    public func validate(shouldHaveHeaders headers: HTTPHeaders) -> RequestBuilder { validate(.shouldContains, headers) }

    /// Wants header fields to be there, or not to be.
    /// - Parameters:
    ///   - validation: What is wanted of each field.
    ///   - headers: The fields.
    public func validate(_ validation: HeaderValidator.Validation, _ headers: HTTPHeaders) -> RequestBuilder {
        validate(using: HeaderValidator(validation, headers))
    }
}
