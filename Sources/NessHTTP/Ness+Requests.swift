extension Ness {
    /// Sends the request of a spec, and promises the model that the spec makes from the response.
    ///
    /// ```swift
    /// let status = try await ness.request(GetStatus()) {
    ///     $0.set(retry: .never)
    /// }.value
    /// ```
    /// For an example of a spec, see `ConnectionSpec`.
    /// - Parameters:
    ///   - spec: The spec.
    ///   - prepare: Changes the request of this call, after the spec's own `prepare(_:)`. Runs during this call.
    /// - Returns: A promise of the model. It fails with `NessError`, or with an error that the spec threw.
    @discardableResult
    public func request<Spec: ConnectionSpec>(
        _ spec: Spec, preparedBy prepare: (RequestBuilder) -> RequestBuilder = { $0 }
    ) -> RequestPromise<Spec.ResponseModel> {
        request(spec, parsedBy: spec, preparedBy: prepare)
    }

    /// Sends the request of one spec, and promises the model that another spec makes from the response.
    /// - Parameters:
    ///   - spec: Describes the request.
    ///   - responseSpec: Parses the response.
    ///   - prepare: Changes the request of this call, after the spec's own `prepare(_:)`. Runs during this call.
    /// - Returns: A promise of the model. It fails with `NessError`, or with an error that a spec threw.
    @discardableResult
    public func request<Spec: ResponseSpec>(
        _ spec: some RequestSpec, parsedBy responseSpec: Spec, preparedBy prepare: (RequestBuilder) -> RequestBuilder = { $0 }
    ) -> RequestPromise<Spec.ResponseModel> {
        let rule = ClosureValidator {
            responseSpec.validate(response: $0)
                ? .valid : .invalidWithReason("status \($0.statusCode), which \(Spec.self) does not accept")
        }
        let fallback: @Sendable (HTTPResponse) -> Spec.ResponseModel? = { responseSpec.statusFallbacks[$0.statusCode] }
        let reading = ResponseReading<Spec.ResponseModel>(
            rule: rule, expectsJSON: responseSpec.expectsJSON, takesAnyType: Spec.ResponseModel.self is any RawContent.Type,
            isDecoded: { fallback($0) == nil }, parse: { try fallback($0) ?? responseSpec.parseResponse(response: $0) })
        return prepare(httpRequest(spec)).valueRequest(reading)
    }

    /// Makes a builder of the request that a spec describes.
    /// - Parameter spec: The spec.
    /// - Returns: A builder. An invalid request fails when it is started.
    public func httpRequest(_ spec: some RequestSpec) -> RequestBuilder {
        let builder = httpRequest(spec.httpMethod, withUrl: spec.url)
            .set(headers: spec.headers)
            .set(urlParameters: spec.urlQuery ?? URLQuery())
            .set(body: Result { try spec.body() })
        return spec.prepare(builder)
    }

    /// Sends a typed request. This overload exists so that the compiler infers the type of `.user(42)`.
    /// - Parameters:
    ///   - request: The request.
    ///   - prepare: Changes the request of this call. Runs during this call.
    /// - Returns: A promise of the value. It fails with `NessError`, or with an error that `decode` threw.
    @discardableResult
    public func request<Response: Sendable>(
        _ request: TypedRequest<Response>, preparedBy prepare: (RequestBuilder) -> RequestBuilder = { $0 }
    ) -> RequestPromise<Response> {
        self.request(request, parsedBy: request, preparedBy: prepare)
    }
}
