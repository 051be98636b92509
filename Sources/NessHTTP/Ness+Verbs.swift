/// One method for each of the common methods of HTTP. `httpRequest(_:withUrl:)` takes any method.
///
/// ```swift
/// let user = try await ness.get("users/1").dataRequest(decoding: User.self).value
/// try await ness.patch("users/1").set(jsonBody: ["name": "Ada"]).dataRequest(decoding: Void.self).value
/// ```
extension Ness {
    /// Makes the builder of a GET request.
    /// - Parameter url: A text, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:)`.
    public func get(_ url: some URLConvertible) -> RequestBuilder { httpRequest(.get, withUrl: url) }

    /// Makes the builder of a HEAD request.
    /// - Parameter url: A text, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:)`.
    public func head(_ url: some URLConvertible) -> RequestBuilder { httpRequest(.head, withUrl: url) }

    /// Makes the builder of a POST request.
    /// - Parameter url: A text, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:)`.
    public func post(_ url: some URLConvertible) -> RequestBuilder { httpRequest(.post, withUrl: url) }

    /// Makes the builder of a PUT request.
    /// - Parameter url: A text, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:)`.
    public func put(_ url: some URLConvertible) -> RequestBuilder { httpRequest(.put, withUrl: url) }

    /// Makes the builder of a PATCH request (RFC 5789).
    /// - Parameter url: A text, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:)`.
    public func patch(_ url: some URLConvertible) -> RequestBuilder { httpRequest(.patch, withUrl: url) }

    /// Makes the builder of a DELETE request.
    /// - Parameter url: A text, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:)`.
    public func delete(_ url: some URLConvertible) -> RequestBuilder { httpRequest(.delete, withUrl: url) }
}
