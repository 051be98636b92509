/// One method for each of the common methods of HTTP. `httpRequest(_:withUrl:_:)` takes any method.
///
/// ```swift
/// let user = try await ness.get("users/1").decoded(as: User.self)
/// let orders = try await ness.get("users", id, "orders").decoded(as: [Order].self)
/// try await ness.patch("users", id).set(jsonBody: ["name": "Ada"])
///     .validate().response()
/// ```
extension Ness {
    /// Makes the builder of a GET request.
    /// - Parameters:
    ///   - url: A string, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:_:)`.
    ///   - segments: Values that follow as path segments, each percent-encoded.
    public func get(_ url: some URLConvertible, _ segments: any CustomStringConvertible...) -> RequestBuilder {
        RequestBuilder(sender: self, method: .get, url: url, segments: segments)
    }

    /// Makes the builder of a HEAD request.
    /// - Parameters:
    ///   - url: A string, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:_:)`.
    ///   - segments: Values that follow as path segments, each percent-encoded.
    public func head(_ url: some URLConvertible, _ segments: any CustomStringConvertible...) -> RequestBuilder {
        RequestBuilder(sender: self, method: .head, url: url, segments: segments)
    }

    /// Makes the builder of a POST request.
    /// - Parameters:
    ///   - url: A string, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:_:)`.
    ///   - segments: Values that follow as path segments, each percent-encoded.
    public func post(_ url: some URLConvertible, _ segments: any CustomStringConvertible...) -> RequestBuilder {
        RequestBuilder(sender: self, method: .post, url: url, segments: segments)
    }

    /// Makes the builder of a PUT request.
    /// - Parameters:
    ///   - url: A string, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:_:)`.
    ///   - segments: Values that follow as path segments, each percent-encoded.
    public func put(_ url: some URLConvertible, _ segments: any CustomStringConvertible...) -> RequestBuilder {
        RequestBuilder(sender: self, method: .put, url: url, segments: segments)
    }

    /// Makes the builder of a PATCH request (RFC 5789).
    /// - Parameters:
    ///   - url: A string, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:_:)`.
    ///   - segments: Values that follow as path segments, each percent-encoded.
    public func patch(_ url: some URLConvertible, _ segments: any CustomStringConvertible...) -> RequestBuilder {
        RequestBuilder(sender: self, method: .patch, url: url, segments: segments)
    }

    /// Makes the builder of a DELETE request.
    /// - Parameters:
    ///   - url: A string, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:_:)`.
    ///   - segments: Values that follow as path segments, each percent-encoded.
    public func delete(_ url: some URLConvertible, _ segments: any CustomStringConvertible...) -> RequestBuilder {
        RequestBuilder(sender: self, method: .delete, url: url, segments: segments)
    }
}
