/// A typed result together with the response from which it was made.
///
/// ```swift
/// let page = try await request.decodedResponse(as: [User].self)
/// print(page.value.count, page.response.headers["X-Total-Count"] ?? "?")
/// ```
public struct Decoded<Value: Sendable>: Sendable {
    /// The value.
    public let value: Value
    /// The response.
    public let response: HTTPResponse
}

extension RequestPromise {
    /// Returns a promise of this promise's value together with its response. It works for every typed result: `dataRequest(decoding:)`, a
    /// `TypedRequest` or a spec.
    ///
    /// ```swift
    /// ness.request(.user(42)).withResponse()
    ///     .then { user in
    ///         print(user.value.name, user.response.headers["ETag"] ?? "no version")
    ///     }
    /// ```
    /// - Returns: The promise. Dropping it drops the request, unless something else waits for it. It fails as this promise does.
    public func withResponse() -> Promise<Decoded<Value>> {
        then(on: .immediate) { [call] value in
            // The call keeps its response before it settles the promise.
            guard let response = call.response else { throw PromiseError.abandoned }
            return Decoded(value: value, response: response)
        }
    }
}
