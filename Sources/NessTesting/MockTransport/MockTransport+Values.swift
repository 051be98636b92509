import Foundation
import NessHTTP

extension MockTransport {
    /// Adds a route that returns a value, for typed requests.
    ///
    /// ```swift
    /// mock.on(.get, "users/:id", returning: User(id: 1, name: "Tabby"))
    /// let user = try await ness.get("users/1").decoded(as: User.self)
    /// ```
    ///
    /// The value becomes the body, as JSON. A `String` becomes the body itself, as text, and `Data` as bytes, as typed requests read them.
    /// If the value can't be encoded, each matching request fails with `MockTransportError.invalidReply`, which says why.
    /// - Parameters:
    ///   - method: The method; `nil` for any.
    ///   - pattern: The URLs that the route matches: see `on(_:_:_:)`.
    ///   - value: The value. It is encoded in this call.
    ///   - status: The status code. A typed request needs one from 200 to 299.
    ///   - headers: Further header fields.
    ///   - encoder: The encoder. If the manager decodes with strategies for dates or names, give one with the same strategies.
    /// - Returns: The route. It stays registered whether or not the caller keeps this value.
    @discardableResult
    public func on(
        _ method: HTTPMethod?, _ pattern: String, returning value: some Encodable, status: Int = 200, headers: HTTPHeaders = [:],
        with encoder: JSONEncoder = JSONEncoder()
    ) -> Route {
        let reply = Result { try Reply.returning(value, status: status, headers: headers, with: encoder) }
        return on(method, pattern) { _ in try reply.get() }
    }
}

extension RequestBuilder {
    /// Returns a value for this request, instead of the manager's transport: see `MockTransport.on(_:_:returning:status:headers:with:)`.
    ///
    /// ```swift
    /// let user = try await ness.get("users/1")
    ///     .mock(returning: User(id: 1, name: "Tabby"))
    ///     .decoded(as: User.self)
    /// ```
    /// - Parameters:
    ///   - value: The value. It is encoded in this call. If it can't be encoded, the request fails with `MockTransportError.invalidReply`.
    ///   - status: The status code. A typed request needs one from 200 to 299.
    ///   - headers: Further header fields.
    ///   - encoder: The encoder; `nil` for the manager's.
    public func mock(
        returning value: some Encodable, status: Int = 200, headers: HTTPHeaders = [:], with encoder: JSONEncoder? = nil
    ) -> RequestBuilder {
        let encoder = encoder ?? jsonEncoder ?? JSONEncoder()
        let reply = Result { try Reply.returning(value, status: status, headers: headers, with: encoder) }
        return mock { _ in try reply.get() }
    }
}

extension Reply {
    /// The reply from which a typed request reads a value.
    /// - Throws: `MockTransportError.invalidReply` if the value can't be encoded.
    fileprivate static func returning(
        _ value: some Encodable, status: Int, headers: HTTPHeaders, with encoder: JSONEncoder
    ) throws -> Reply {
        if let text = value as? String { return .text(text, status: status, headers: headers) }
        if let bytes = value as? Data { return .data(bytes, status: status, headers: headers) }
        do {
            return .data(try encoder.encode(value), contentType: "application/json", status: status, headers: headers)
        } catch EncodingError.invalidValue(_, let context) {
            // The error's own description may contain the value, which may be a secret.
            let path = context.codingPath.map(\.stringValue).joined(separator: ".")
            let place = path.isEmpty ? "" : " at \"\(path)\""
            throw MockTransportError.invalidReply("a \(type(of: value)) can't be encoded\(place)")
        } catch {
            throw MockTransportError.invalidReply("a \(type(of: value)) can't be encoded: its encode(to:) threw \(type(of: error))")
        }
    }
}
