/// One method for each of the common methods of HTTP. `httpRequest(_:withUrl:)` takes any method.
///
/// ```swift
/// let user = try await ness.get("users/1").decoded(as: User.self)
/// let orders = try await ness.get("users", id, "orders").decoded(as: [Order].self)
/// try await ness.patch("users", id).set(jsonBody: ["name": "Ada"])
///     .validate().response()
/// ```
extension Ness {
    /// Makes the builder of a GET request.
    /// - Parameter url: A string, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:)`.
    public func get(_ url: some URLConvertible) -> RequestBuilder { httpRequest(.get, withUrl: url) }

    /// Makes the builder of a GET request for a path that contains values, each of which is one segment.
    /// - Parameters:
    ///   - url: The start of the URL.
    ///   - segment: The first segment after it: see `httpRequest(_:withUrl:_:_:)`.
    ///   - more: Further segments.
    public func get(
        _ url: some URLConvertible, _ segment: any CustomStringConvertible, _ more: any CustomStringConvertible...
    ) -> RequestBuilder {
        RequestBuilder(sender: self, method: .get, url: url, segments: [segment] + more)
    }

    /// Makes the builder of a HEAD request.
    /// - Parameter url: A string, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:)`.
    public func head(_ url: some URLConvertible) -> RequestBuilder { httpRequest(.head, withUrl: url) }

    /// Makes the builder of a HEAD request for a path that contains values, each of which is one segment.
    /// - Parameters:
    ///   - url: The start of the URL.
    ///   - segment: The first segment after it: see `httpRequest(_:withUrl:_:_:)`.
    ///   - more: Further segments.
    public func head(
        _ url: some URLConvertible, _ segment: any CustomStringConvertible, _ more: any CustomStringConvertible...
    ) -> RequestBuilder {
        RequestBuilder(sender: self, method: .head, url: url, segments: [segment] + more)
    }

    /// Makes the builder of a POST request.
    /// - Parameter url: A string, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:)`.
    public func post(_ url: some URLConvertible) -> RequestBuilder { httpRequest(.post, withUrl: url) }

    /// Makes the builder of a POST request for a path that contains values, each of which is one segment.
    /// - Parameters:
    ///   - url: The start of the URL.
    ///   - segment: The first segment after it: see `httpRequest(_:withUrl:_:_:)`.
    ///   - more: Further segments.
    public func post(
        _ url: some URLConvertible, _ segment: any CustomStringConvertible, _ more: any CustomStringConvertible...
    ) -> RequestBuilder {
        RequestBuilder(sender: self, method: .post, url: url, segments: [segment] + more)
    }

    /// Makes the builder of a PUT request.
    /// - Parameter url: A string, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:)`.
    public func put(_ url: some URLConvertible) -> RequestBuilder { httpRequest(.put, withUrl: url) }

    /// Makes the builder of a PUT request for a path that contains values, each of which is one segment.
    /// - Parameters:
    ///   - url: The start of the URL.
    ///   - segment: The first segment after it: see `httpRequest(_:withUrl:_:_:)`.
    ///   - more: Further segments.
    public func put(
        _ url: some URLConvertible, _ segment: any CustomStringConvertible, _ more: any CustomStringConvertible...
    ) -> RequestBuilder {
        RequestBuilder(sender: self, method: .put, url: url, segments: [segment] + more)
    }

    /// Makes the builder of a PATCH request (RFC 5789).
    /// - Parameter url: A string, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:)`.
    public func patch(_ url: some URLConvertible) -> RequestBuilder { httpRequest(.patch, withUrl: url) }

    /// Makes the builder of a PATCH request for a path that contains values, each of which is one segment.
    /// - Parameters:
    ///   - url: The start of the URL.
    ///   - segment: The first segment after it: see `httpRequest(_:withUrl:_:_:)`.
    ///   - more: Further segments.
    public func patch(
        _ url: some URLConvertible, _ segment: any CustomStringConvertible, _ more: any CustomStringConvertible...
    ) -> RequestBuilder {
        RequestBuilder(sender: self, method: .patch, url: url, segments: [segment] + more)
    }

    /// Makes the builder of a DELETE request.
    /// - Parameter url: A string, a `URL` or `URLComponents`: see `httpRequest(_:withUrl:)`.
    public func delete(_ url: some URLConvertible) -> RequestBuilder { httpRequest(.delete, withUrl: url) }

    /// Makes the builder of a DELETE request for a path that contains values, each of which is one segment.
    /// - Parameters:
    ///   - url: The start of the URL.
    ///   - segment: The first segment after it: see `httpRequest(_:withUrl:_:_:)`.
    ///   - more: Further segments.
    public func delete(
        _ url: some URLConvertible, _ segment: any CustomStringConvertible, _ more: any CustomStringConvertible...
    ) -> RequestBuilder {
        RequestBuilder(sender: self, method: .delete, url: url, segments: [segment] + more)
    }
}
