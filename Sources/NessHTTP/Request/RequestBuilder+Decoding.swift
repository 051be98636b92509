import Foundation

/// Typed results. Decoding runs off the main thread, after the last attempt; a promise that is dropped meanwhile is dropped.
extension RequestBuilder {
    /// Sends the request and decodes the response as JSON.
    ///
    /// The status has to be 2xx, besides what the validators want. The request says `Accept: application/json` unless an `Accept` is set, for
    /// it or for the manager. A body that says it is something else than JSON is not decoded: see `set(checksContentType:)`.
    /// - Parameters:
    ///   - type: What to decode. An `Optional` is nil where the body is empty, as with 204; for any other type that is an error.
    ///   - retryControl: What decides on further attempts, instead of the manager's.
    ///   - decoder: What decodes it; the manager's unless given.
    /// - Returns: A promise of the value. It fails with `NessError`, or with what a loader of the caller's threw.
    @discardableResult
    public func dataRequest<Value: Decodable & Sendable>(
        decoding type: Value.Type, with retryControl: (any RetryControl)? = nil, using decoder: JSONDecoder? = nil
    ) -> Promise<Value> {
        accepting("application/json").typedRequest(parsedBy: parser(of: type, decoder), with: retryControl)
    }

    /// As `dataRequest(decoding:with:using:)`, and decodes the body of a response that is refused for its status.
    ///
    /// ```swift
    /// ness.httpRequest(withUrl: "users/1")
    ///     .dataRequest(decoding: User.self, decodingErrors: APIProblem.self)
    ///     .handle { error in
    ///         if let problem = (error as? NessError)?.underlying as? APIProblem { print(problem.title ?? "") }
    ///     }
    /// ```
    /// - Parameters:
    ///   - type: What to decode. An `Optional` is nil where the body is empty.
    ///   - errorType: What the API's errors are. Where the body is none, and where it says that it is no JSON, the error is as without.
    ///   - retryControl: What decides on further attempts, instead of the manager's.
    ///   - decoder: What decodes both; the manager's unless given.
    /// - Returns: A promise of the value. It fails with `NessError`: for a status that is not 2xx with `validation`, which holds the
    ///   response, and what its body was decoded to as `underlying`.
    @discardableResult
    public func dataRequest<Value: Decodable & Sendable, Failure: Decodable & Error>(
        decoding type: Value.Type, decodingErrors errorType: Failure.Type, with retryControl: (any RetryControl)? = nil,
        using decoder: JSONDecoder? = nil
    ) -> Promise<Value> {
        accepting("application/json, application/problem+json;q=0.9")
            .typedRequest(parsedBy: parser(of: type, decoder), with: retryControl, explainedBy: explainer(errorType, decoder))
    }

    /// Sends the request and wants a 2xx, besides what the validators want; what the body holds does not matter.
    /// - Parameters:
    ///   - type: `Void.self`.
    ///   - retryControl: What decides on further attempts, instead of the manager's.
    /// - Returns: A promise that says when. It fails with `NessError`, or with what a loader of the caller's threw.
    @discardableResult
    public func dataRequest(decoding type: Void.Type, with retryControl: (any RetryControl)? = nil) -> Promise<Void> {
        typedRequest(parsedBy: { _ in }, with: retryControl)
    }

    /// As `dataRequest(decoding:with:)`, and decodes the body of a response that is refused for its status.
    /// - Parameters:
    ///   - type: `Void.self`.
    ///   - errorType: What the API's errors are.
    ///   - retryControl: What decides on further attempts, instead of the manager's.
    ///   - decoder: What decodes an error; the manager's unless given.
    /// - Returns: A promise that says when. It fails with `NessError`, whose `underlying` is the API's error.
    @discardableResult
    public func dataRequest<Failure: Decodable & Error>(
        decoding type: Void.Type, decodingErrors errorType: Failure.Type, with retryControl: (any RetryControl)? = nil,
        using decoder: JSONDecoder? = nil
    ) -> Promise<Void> {
        accepting("application/json, application/problem+json;q=0.9")
            .typedRequest(parsedBy: { _ in }, with: retryControl, explainedBy: explainer(errorType, decoder))
    }

    /// Says whether a body is decoded that says it is no JSON.
    /// - Parameter checksContentType: Whether `dataRequest(decoding:)` fails with `NessError.decoding` where the response has a Content-Type
    ///   other than `application/json`, `text/json` and those that end in `+json`.
    public func set(checksContentType: Bool) -> RequestBuilder { with { $0.checksContentType = checksContentType } }

    // MARK: what they have in common

    private var wantsJSON: Bool { checksContentType ?? ness.configuration.checksContentType }

    private func accepting(_ types: String) -> RequestBuilder {
        if headers.contains("accept") || ness.configuration.defaultHeaders.contains("accept") { return self }
        return with { $0.headers["Accept"] = types }
    }

    private func typedRequest<Value: Sendable>(
        parsedBy parse: @escaping @Sendable (HTTPResponse) throws -> Value, with retryControl: (any RetryControl)?,
        explainedBy explain: @escaping @Sendable (any Error) -> any Error = { $0 }
    ) -> Promise<Value> {
        validatingFirst(StatusCodeValidator.success).dataRequest(parsedBy: parse, with: retryControl, explainedBy: explain)
    }

    private func parser<Value: Decodable & Sendable>(
        of type: Value.Type, _ decoder: JSONDecoder?
    ) -> @Sendable (HTTPResponse) throws -> Value {
        let wantsJSON = wantsJSON
        return { response in
            if wantsJSON { try response.requireJSON(for: Value.self) }
            return try response.parseJSONBody(Value.self, with: decoder)
        }
    }

    private func explainer<Failure: Decodable & Error>(
        _ type: Failure.Type, _ decoder: JSONDecoder?
    ) -> @Sendable (any Error) -> any Error {
        let wantsJSON = wantsJSON
        return { error in
            guard case NessError.validation(var context) = error, context.underlying == nil, let response = context.response,
                !(200..<300).contains(response.statusCode)
            else { return error }
            if wantsJSON, (try? response.requireJSON(for: Failure.self)) == nil { return error }
            guard !response.body.isEmpty, let failure = try? response.parseJSONBody(Failure.self, with: decoder) else { return error }
            context.underlying = failure
            return NessError.validation(context)
        }
    }
}

extension HTTPResponse {
    /// Throws `NessError.decoding` where there is a body that says it is something else than JSON.
    fileprivate func requireJSON(for type: Any.Type) throws {
        guard !body.isEmpty, !headers.isJSON, let found = headers.mediaType else { return }
        let expected = "application/json, text/json or one that ends in +json"
        let reason = "can't decode \(type): the Content-Type is \(found.prefix(100)), not \(expected)"
        throw NessError.decoding(NessError.Context(request: request, response: self, reason: reason))
    }
}
