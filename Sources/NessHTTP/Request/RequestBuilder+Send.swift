import Foundation

/// Starting the request. Each call is a request of its own, and starts at once, whether or not anyone keeps the promise.
extension RequestBuilder {
    /// Sends the request and keeps the whole response in memory.
    ///
    /// Any status is a result, unless a validator refuses it.
    /// - Parameter retryControl: What decides on further attempts, instead of the manager's.
    /// - Returns: A promise of the response. It fails with `NessError`, or with what a loader of the caller's threw.
    @discardableResult
    public func dataRequest(with retryControl: (any RetryControl)? = nil) -> DataPromise {
        let tracker = RequestTracker(ness.timekeeper)
        let request = Result { try build(.data, validators, retryControl, tracker) }
        return DataPromise(tracker, request: try? request.get(), running: ness.running) { [ness] in
            DataResult(message: try await ness.perform(request, tracker))
        }
    }

    /// Sends the request and has a closure make a value of the response. What the closure throws is not tried again.
    /// - Parameters:
    ///   - parse: Makes the value. Runs off the main thread.
    ///   - retryControl: What decides on further attempts, instead of the manager's.
    ///   - explain: Says more about what the request failed with, when no attempt follows.
    func dataRequest<Value: Sendable>(
        parsedBy parse: @escaping @Sendable (HTTPResponse) throws -> Value, with retryControl: (any RetryControl)?,
        explainedBy explain: @escaping @Sendable (any Error) -> any Error = { $0 }
    ) -> Promise<Value> {
        let tracker = RequestTracker(ness.timekeeper)
        let request = Result { try build(.data, validators, retryControl, tracker) }
        let promise = Promise<Value>(makeDropError: tracker.makeDropError(try? request.get()))
        let remove = ness.running.add(promise, groups: groups)
        promise.start { [ness] in
            let parsed = Lock<(HTTPResponse, Value)?>(nil)
            let response: HTTPResponse
            do {
                response = try await ness.perform(request, tracker) { response in
                    let value = try parse(response)
                    parsed.withLock { $0 = (response, value) }
                }
            } catch {
                throw explain(error)
            }
            // A loader outside of all stages may have changed what was parsed.
            if let (seen, value) = parsed.withLock({ $0 }), seen.isSame(as: response) { return value }
            return try parse(response)
        } settled: { error in
            tracker.settled(byDrop: error != nil, isWhole: false)
            remove()
        }
        return promise
    }

    func validatingFirst(_ validator: some ResponseValidator) -> RequestBuilder {
        with { $0.validators.insert(validator, at: 0) }
    }

    func build(
        _ kind: RequestKind, _ validators: [any ResponseValidator], _ retryControl: (any RetryControl)?, _ tracker: RequestTracker
    ) throws -> HTTPRequest {
        var fields = try fields()
        fields.kind = kind
        fields.validators = validators
        fields.retryControl = retryControl
        fields.authentication = authentication
        fields.groups = groups
        fields.activity = tracker
        fields.epoch = ness.running.epoch
        return HTTPRequest(fields)
    }
}

extension HTTPResponse {
    /// Whether nothing that a parser sees differs.
    fileprivate func isSame(as other: HTTPResponse) -> Bool {
        statusCode == other.statusCode && headers == other.headers && body == other.body
    }
}
