import Foundation

/// The manager's name in iONess.
public typealias NetworkSessionManager = Ness

/// The setters of arrays in iONess. `set(jsonEncodable:)` and `set(jsonBody:)` take arrays as well.
extension RequestBuilder {
    /// Sets a JSON array, usually as a literal: `[1, "two", nil]`.
    /// - Parameter arrayJsonBody: The elements.
    public func set(arrayJsonBody: [JSONValue]) -> RequestBuilder { set(jsonBody: .array(arrayJsonBody)) }

    /// Sets a JSON array with elements of any `Encodable` types.
    /// - Parameter arrayJsonBody: The elements. `nil` becomes null.
    @_disfavoredOverload
    public func set(arrayJsonBody: [(any Encodable & Sendable)?]) -> RequestBuilder {
        set(body: Result { try .json(encoding: arrayJsonBody.map(AnyEncodable.init)) })
    }

    /// Sets an array of values as the body, as JSON.
    /// - Parameters:
    ///   - arrayJsonEncodable: The values.
    ///   - encoder: The encoder; `nil` for the manager's.
    public func set(arrayJsonEncodable: [some Encodable], with encoder: JSONEncoder? = nil) -> RequestBuilder {
        set(jsonEncodable: arrayJsonEncodable, with: encoder)
    }
}
