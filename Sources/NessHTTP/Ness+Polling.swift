extension Ness {
    /// Sends the request of a spec repeatedly, and delivers each value.
    ///
    /// Ness sends a request only when the loop asks for the next element, so requests never overlap. Leaving the loop ends the polling.
    /// Canceling its task also drops the request in flight. Each loop polls separately.
    ///
    /// By default transient errors, such as network errors, do not end the polling. A response that is rejected or cannot be decoded does.
    ///
    /// ```swift
    /// for try await status in ness.poll(GetStatus(), every: .seconds(5)) {
    ///     if status.isDone { break }
    /// }
    /// ```
    /// - Parameters:
    ///   - spec: The request.
    ///   - interval: The time between a response and the next request, on the manager's clock. If it is not positive, the next request
    ///     follows immediately.
    ///   - endsOn: Returns true for an error that ends the polling. The sequence then throws that error. Runs off the main thread. `nil`
    ///     ends the polling with every error that is not transient.
    /// - Returns: The values, as a sequence.
    public func poll<Spec: ConnectionSpec>(
        _ spec: Spec, every interval: Duration, endsOn: (@Sendable (any Error) -> Bool)? = nil
    ) -> ResponseSequence<Spec.ResponseModel> {
        poll(every: interval, endsOn) { [self] in request(spec) }
    }

    /// Sends a typed request repeatedly, and delivers each value: see `poll(_:every:endsOn:)`.
    /// - Parameters:
    ///   - request: The request.
    ///   - interval: The time between a response and the next request, on the manager's clock. If it is not positive, the next request
    ///     follows immediately.
    ///   - endsOn: Returns true for an error that ends the polling. The sequence then throws that error. Runs off the main thread. `nil`
    ///     ends the polling with every error that is not transient.
    /// - Returns: The values, as a sequence.
    public func poll<Response: Sendable>(
        _ request: TypedRequest<Response>, every interval: Duration, endsOn: (@Sendable (any Error) -> Bool)? = nil
    ) -> ResponseSequence<Response> {
        poll(every: interval, endsOn) { [self] in self.request(request) }
    }

    private func poll<Element: Sendable>(
        every interval: Duration, _ endsOn: (@Sendable (any Error) -> Bool)?, _ send: @escaping @Sendable () -> Promise<Element>
    ) -> ResponseSequence<Element> {
        let endsOn = endsOn ?? { ($0 as? NessError)?.isTransient != true }
        return ResponseSequence { [clock = pipelineClock] in
            var lastAnswer: Duration?
            var isDone = false
            return {
                while !isDone {
                    do {
                        if let left = lastAnswer.map({ $0 + interval - clock.elapsed() }), left > .zero { try await clock.sleep(left) }
                        try Task.checkCancellation()
                        defer { lastAnswer = clock.elapsed() }
                        return try await send().value
                    } catch {
                        isDone = Task.isCancelled || endsOn(error)
                        if isDone { throw Task.isCancelled ? NessError.cancelled(error) : error }
                    }
                }
                return nil
            }
        }
    }
}
