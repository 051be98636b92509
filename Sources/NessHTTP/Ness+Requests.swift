extension Ness {
    /// Sends the request of a spec, and promises the model that the spec makes from the response.
    /// - Parameters:
    ///   - spec: The spec.
    ///   - errorType: The type of the API's errors, in place of the spec's.
    ///   - retryControl: The retry policy; `nil` for the one that the request sets, else the manager's; `.never` for no retries.
    /// - Returns: A promise of the model. It fails with `NessError`, or with an error that the spec threw.
    @discardableResult
    public func request<Spec: ConnectionSpec>(
        _ spec: Spec, decodingErrors errorType: (any DecodableError.Type)? = nil, with retryControl: (any RetryControl)? = nil
    ) -> RequestPromise<Spec.ResponseModel> {
        request(spec, parsedBy: spec, decodingErrors: errorType, with: retryControl)
    }

    /// Sends the request of one spec, and promises the model that another spec makes from the response.
    /// - Parameters:
    ///   - spec: Describes the request.
    ///   - responseSpec: Parses the response.
    ///   - errorType: The type of the API's errors, in place of the response spec's.
    ///   - retryControl: The retry policy; `nil` for the one that the request sets, else the manager's; `.never` for no retries.
    /// - Returns: A promise of the model. It fails with `NessError`, or with an error that a spec threw.
    @discardableResult
    public func request<Spec: ResponseSpec>(
        _ spec: some RequestSpec, parsedBy responseSpec: Spec, decodingErrors errorType: (any DecodableError.Type)? = nil,
        with retryControl: (any RetryControl)? = nil
    ) -> RequestPromise<Spec.ResponseModel> {
        let reading = ResponseReading<Spec.ResponseModel>(
            rule: SpecValidator(spec: responseSpec), expectsJSON: responseSpec.expectsJSON,
            takesAnyType: Spec.ResponseModel.self is any RawContent.Type,
            isDecoded: { responseSpec.statusFallbacks[$0.statusCode] == nil },
            parse: { try responseSpec.statusFallbacks[$0.statusCode] ?? responseSpec.parseResponse(response: $0) })
        return httpRequest(spec).valueRequest(reading, decodingErrors: errorType ?? responseSpec.decodingErrors, with: retryControl)
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

    /// Sends a typed request. Unlike the method for specs, it lets the compiler infer the type of `.user(42)`.
    /// - Parameters:
    ///   - request: The request.
    ///   - errorType: The type of the API's errors, in place of the request's.
    ///   - retryControl: The retry policy; `nil` for the one that the request sets, else the manager's; `.never` for no retries.
    /// - Returns: A promise of the value. It fails with `NessError`, or with an error that `decode` threw.
    @discardableResult
    public func request<Response: Sendable>(
        _ request: TypedRequest<Response>, decodingErrors errorType: (any DecodableError.Type)? = nil,
        with retryControl: (any RetryControl)? = nil
    ) -> RequestPromise<Response> {
        self.request(request, parsedBy: request, decodingErrors: errorType, with: retryControl)
    }
}
