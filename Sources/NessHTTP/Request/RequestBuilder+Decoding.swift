import Foundation

/// Typed results. Decoding runs off the main thread, after the last attempt; a promise that is dropped meanwhile is dropped.
extension RequestBuilder {
    /// Sends the request and decodes the response as JSON.
    ///
    /// The status has to be 2xx, besides what the validators want. The request says `Accept: application/json` unless an `Accept` is set, for
    /// it or for the manager. A response whose Content-Type says that it is not JSON is refused: see `set(checksContentType:)`.
    ///
    /// ```swift
    /// ness.httpRequest(withUrl: "users/1")
    ///     .dataRequest(decoding: User.self, decodingErrors: APIProblem.self)
    ///     .handle { error in
    ///         if let problem = (error as? NessError)?.underlying as? APIProblem { print(problem.title ?? "") }
    ///     }
    /// ```
    /// - Parameters:
    ///   - type: The type to decode. An `Optional` is nil where the body is empty, as with 204; for any other type that is an error.
    ///   - errorType: The type of the API's errors, decoded from the body of a response that is refused for its status; the manager's
    ///     `decodingErrors` unless given. Where the body holds none, and where it says that it is not JSON, the error is as without.
    ///   - retryControl: The control that decides on further attempts; nil for the manager's, `.never` for none.
    ///   - decoder: The decoder of both; the manager's unless given.
    /// - Returns: A promise of the value. It fails with `NessError`, or with what a loader of the caller's threw. For a status that is not
    ///   2xx the error is `validation`: it holds the response, and the API's error as `underlying`.
    @discardableResult
    public func dataRequest<Value: Decodable & Sendable>(
        decoding type: Value.Type, decodingErrors errorType: (any DecodableError.Type)? = nil, with retryControl: (any RetryControl)? = nil,
        using decoder: JSONDecoder? = nil
    ) -> RequestPromise<Value> {
        valueRequest(.json(type, with: decoder), decodingErrors: errorType, with: retryControl, using: decoder)
    }

    /// Sends the request and wants a 2xx status, besides what the validators want. The content of the body does not matter.
    /// - Parameters:
    ///   - type: `Void.self`.
    ///   - errorType: The type of the API's errors; the manager's `decodingErrors` unless given.
    ///   - retryControl: The control that decides on further attempts; nil for the manager's, `.never` for none.
    ///   - decoder: The decoder of an error; the manager's unless given.
    /// - Returns: A promise that is fulfilled when the response is there. It fails with `NessError`, or with what a loader of the caller's
    ///   threw.
    @discardableResult
    public func dataRequest(
        decoding type: Void.Type, decodingErrors errorType: (any DecodableError.Type)? = nil, with retryControl: (any RetryControl)? = nil,
        using decoder: JSONDecoder? = nil
    ) -> RequestPromise<Void> {
        valueRequest(.nothing, decodingErrors: errorType, with: retryControl, using: decoder)
    }

    /// Sets whether a typed result refuses a response that says it is not JSON.
    /// - Parameter checksContentType: True if `dataRequest(decoding:)` fails with `NessError.validation` where the response has a
    ///   Content-Type other than `application/json`, `text/json` and those that end in `+json`.
    public func set(checksContentType: Bool) -> RequestBuilder { with { $0.checksContentType = checksContentType } }
}
