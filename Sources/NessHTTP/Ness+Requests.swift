extension Ness {
    /// Sends what a spec says and promises what it makes of the answer.
    /// - Parameters:
    ///   - spec: The spec.
    ///   - errorType: The type of the API's errors, instead of the spec's.
    ///   - retryControl: The control that decides on further attempts; nil for the manager's, `.never` for none.
    /// - Returns: A promise of the model. It fails with `NessError`, or with what the spec threw.
    @discardableResult
    public func request<Spec: ConnectionSpec>(
        _ spec: Spec, decodingErrors errorType: (any DecodableError.Type)? = nil, with retryControl: (any RetryControl)? = nil
    ) -> RequestPromise<Spec.ResponseModel> {
        request(spec, parsedBy: spec, decodingErrors: errorType, with: retryControl)
    }

    /// Sends what one spec says and promises what another makes of the answer.
    /// - Parameters:
    ///   - spec: What to send.
    ///   - responseSpec: What the answer means.
    ///   - errorType: The type of the API's errors, instead of the spec's.
    ///   - retryControl: The control that decides on further attempts; nil for the manager's, `.never` for none.
    /// - Returns: A promise of the model. It fails with `NessError`, or with what a spec threw.
    @discardableResult
    public func request<Spec: ResponseSpec>(
        _ spec: some RequestSpec, parsedBy responseSpec: Spec, decodingErrors errorType: (any DecodableError.Type)? = nil,
        with retryControl: (any RetryControl)? = nil
    ) -> RequestPromise<Spec.ResponseModel> {
        let reading = ResponseReading<Spec.ResponseModel>(
            rule: SpecValidator(spec: responseSpec), expectsJSON: responseSpec.expectsJSON,
            isDecoded: { responseSpec.standIns[$0.statusCode] == nil },
            parse: { try responseSpec.standIns[$0.statusCode] ?? responseSpec.parseResponse(response: $0) })
        return httpRequest(spec).valueRequest(reading, decodingErrors: errorType ?? responseSpec.decodingErrors, with: retryControl)
    }

    /// Begins the request that a spec describes.
    /// - Parameter spec: The spec.
    /// - Returns: A builder. What can't be sent fails when it is started.
    public func httpRequest(_ spec: some RequestSpec) -> RequestBuilder {
        let builder = httpRequest(spec.httpMethod, withUrl: spec.url)
            .set(headers: spec.headers)
            .set(urlParameters: spec.urlQuery ?? URLQuery())
            .set(body: Result { try spec.body() })
        return spec.prepare(builder)
    }

    /// Sends a typed request: the same as for any spec, in a form that lets the compiler infer the type of `.user(42)`.
    /// - Parameters:
    ///   - request: The request.
    ///   - errorType: The type of the API's errors, instead of the request's.
    ///   - retryControl: The control that decides on further attempts; nil for the manager's, `.never` for none.
    /// - Returns: A promise of its value. It fails with `NessError`, or with what `decode` threw.
    @discardableResult
    public func request<Response: Sendable>(
        _ request: TypedRequest<Response>, decodingErrors errorType: (any DecodableError.Type)? = nil,
        with retryControl: (any RetryControl)? = nil
    ) -> RequestPromise<Response> {
        self.request(request, parsedBy: request, decodingErrors: errorType, with: retryControl)
    }
}
