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
        let request = Result { try build(.data, validators, retryControl) }
        let tracker = RequestTracker(ness.timekeeper)
        return DataPromise(tracker, request: try? request.get(), running: ness.running) {
            DataResult(message: try await ness.perform(request, tracker))
        }
    }

    /// Sends the request and decodes the response as JSON. The status has to be 2xx, besides what the validators want.
    /// - Parameters:
    ///   - type: What to decode. An `Optional` is nil where the body is empty.
    ///   - retryControl: What decides on further attempts, instead of the manager's.
    ///   - decoder: What decodes it; it does so off the main thread.
    /// - Returns: A promise of the value. It fails with `NessError`, or with what a loader of the caller's threw.
    @discardableResult
    public func dataRequest<Value: Decodable & Sendable>(
        decoding type: Value.Type, with retryControl: (any RetryControl)? = nil, using decoder: JSONDecoder = JSONDecoder()
    ) -> Promise<Value> {
        let parse = UncheckedDecoder(decoder)
        return validatingFirst(StatusCodeValidator.success).dataRequest(
            parsedBy: { response in
                let isOptional = Value.self as? any ExpressibleByNilLiteral.Type
                if response.body.isEmpty, let nothing = isOptional?.init(nilLiteral: ()) as? Value { return nothing }
                return try response.parseJSONBody(Value.self, with: parse.decoder)
            }, with: retryControl)
    }

    /// Sends the request and has a closure make a value of the response. What the closure throws is not tried again.
    func dataRequest<Value: Sendable>(
        parsedBy parse: @escaping @Sendable (HTTPResponse) throws -> Value, with retryControl: (any RetryControl)?
    ) -> Promise<Value> {
        let request = Result { try build(.data, validators, retryControl) }
        let tracker = RequestTracker(ness.timekeeper)
        let promise = Promise<Value>(makeDropError: tracker.makeDropError(try? request.get()))
        let remove = ness.running.add(promise, groups: groups)
        promise.start {
            let parsed = Lock<(HTTPResponse, Value)?>(nil)
            let response = try await ness.perform(request, tracker) { response in
                let value = try parse(response)
                parsed.withLock { $0 = (response, value) }
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
        _ kind: RequestKind, _ validators: [any ResponseValidator], _ retryControl: (any RetryControl)?
    ) throws -> HTTPRequest {
        var request = try build()
        request.kind = kind
        request.validators = validators
        request.retryControl = retryControl
        request.authentication = authentication
        request.groups = groups
        return request
    }
}

extension HTTPResponse {
    /// Whether nothing that a parser sees differs.
    fileprivate func isSame(as other: HTTPResponse) -> Bool {
        statusCode == other.statusCode && headers == other.headers && body == other.body
    }
}
