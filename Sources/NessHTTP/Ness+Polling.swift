extension Ness {
    /// Makes a request again and again.
    ///
    /// Network errors do not end it; a response that is refused or can't be decoded does, unless told otherwise.
    ///
    /// ```swift
    /// for try await status in ness.poll(GetStatus(), every: .seconds(5)) {
    ///     if status.isDone { break }
    /// }
    /// ```
    /// - Parameters:
    ///   - spec: The request.
    ///   - interval: The time between an answer and the next request, on the manager's clock; none is waited where it is not positive.
    ///   - errorType: The type of the API's errors, instead of the spec's.
    ///   - endsOn: Returns true for an error that ends the polling, with that error. Runs off the main thread. `nil` ends it with every error
    ///     that is not transient.
    /// - Returns: The answers.
    public func poll<Spec: ConnectionSpec>(
        _ spec: Spec, every interval: Duration, decodingErrors errorType: (any DecodableError.Type)? = nil,
        endsOn: (@Sendable (any Error) -> Bool)? = nil
    ) -> Polling<Spec.ResponseModel> {
        poll(every: interval, endsOn) { [self] in request(spec, decodingErrors: errorType) }
    }

    /// As `poll(_:every:endsOn:)`, for a typed request.
    /// - Parameters:
    ///   - request: The request.
    ///   - interval: The time between an answer and the next request, on the manager's clock; none is waited where it is not positive.
    ///   - errorType: The type of the API's errors, instead of the spec's.
    ///   - endsOn: Returns true for an error that ends the polling, with that error. Runs off the main thread. `nil` ends it with every error
    ///     that is not transient.
    /// - Returns: The answers.
    public func poll<Response: Sendable>(
        _ request: TypedRequest<Response>, every interval: Duration, decodingErrors errorType: (any DecodableError.Type)? = nil,
        endsOn: (@Sendable (any Error) -> Bool)? = nil
    ) -> Polling<Response> {
        poll(every: interval, endsOn) { [self] in self.request(request, decodingErrors: errorType) }
    }

    private func poll<Element: Sendable>(
        every interval: Duration, _ endsOn: (@Sendable (any Error) -> Bool)?, _ send: @escaping @Sendable () -> Promise<Element>
    ) -> Polling<Element> {
        Polling(
            ask: { try await send().value }, interval: interval, clock: timekeeper,
            endsOn: endsOn ?? { ($0 as? NessError)?.isTransient != true })
    }
}
