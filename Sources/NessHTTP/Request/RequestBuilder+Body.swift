import Foundation

/// The bodies. The last one set counts, and its headers with it.
extension RequestBuilder {
    /// Sets the bytes themselves.
    /// - Parameter body: The bytes, sent as `application/octet-stream` unless a Content-Type is set.
    public func set(body: Data) -> RequestBuilder { set { HTTPBody(body) } }

    /// Sets a body that is already made.
    /// - Parameter body: The body; nil for none.
    public func set(body: HTTPBody?) -> RequestBuilder { with { $0.body = .success(body) } }

    /// Sets a text.
    /// - Parameters:
    ///   - stringBody: The text.
    ///   - encoding: Its encoding; a text that it can't represent makes the request fail.
    public func set(stringBody: String, encoding: String.Encoding = .utf8) -> RequestBuilder {
        set { try .text(stringBody, encoding: encoding) }
    }

    /// Sets a JSON value, usually as a literal: `["name": "Fluffles", "tags": ["a", 1, true]]`.
    /// - Parameter jsonBody: The value.
    public func set(jsonBody: JSONValue) -> RequestBuilder { set { try .json(jsonBody) } }

    /// Sets a JSON object of variables: `["name": name, "age": age]`.
    /// - Parameter jsonBody: Names and values; nil is null.
    @_disfavoredOverload
    public func set(jsonBody: [String: (any Encodable & Sendable)?]) -> RequestBuilder {
        set { try .json(encoding: jsonBody.mapValues(AnyEncodable.init)) }
    }

    /// Sets a JSON array, usually as a literal: `[1, "two", nil]`.
    /// - Parameter arrayJsonBody: The elements.
    public func set(arrayJsonBody: [JSONValue]) -> RequestBuilder { set { try .json(.array(arrayJsonBody)) } }

    /// Sets a JSON array of variables.
    /// - Parameter arrayJsonBody: The elements; nil is null.
    @_disfavoredOverload
    public func set(arrayJsonBody: [(any Encodable & Sendable)?]) -> RequestBuilder {
        set { try .json(encoding: arrayJsonBody.map(AnyEncodable.init)) }
    }

    /// Sets a value, as JSON.
    /// - Parameters:
    ///   - jsonEncodable: The value.
    ///   - encoder: What encodes it; the manager's unless given.
    public func set(jsonEncodable: some Encodable, with encoder: JSONEncoder? = nil) -> RequestBuilder {
        set { try .json(encoding: jsonEncodable, with: encoder ?? sender.defaults.jsonEncoder) }
    }

    /// Sets an array of values, as JSON.
    /// - Parameters:
    ///   - arrayJsonEncodable: The values.
    ///   - encoder: What encodes them; the manager's unless given.
    public func set(arrayJsonEncodable: [some Encodable], with encoder: JSONEncoder? = nil) -> RequestBuilder {
        set { try .json(encoding: arrayJsonEncodable, with: encoder ?? sender.defaults.jsonEncoder) }
    }

    /// Sets a form, as `application/x-www-form-urlencoded`.
    /// - Parameter form: Its fields, in order.
    public func set(form: URLQuery) -> RequestBuilder { set { .form(form) } }

    /// Sets a form with files, as `multipart/form-data`.
    /// - Parameter multipart: The form.
    public func set(multipart: MultipartForm) -> RequestBuilder { set { try multipart.makeBody() } }

    /// Sets what an encoder makes of a value.
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: What encodes it, in this call.
    public func set<Encoder: HTTPBodyEncoder>(body value: Encoder.Value, with encoder: Encoder) -> RequestBuilder {
        set { HTTPBody(try encoder.encode(value), headers: HTTPHeaders(encoder.relatedHeaders ?? [:])) }
    }

    /// Sets a body, or why there is none.
    func set(body: Result<HTTPBody?, any Error>) -> RequestBuilder { with { $0.body = body } }

    private func set(_ make: () throws -> HTTPBody) -> RequestBuilder { with { $0.body = Result { try make() } } }
}

/// A value of which only its encoding is known.
private struct AnyEncodable: Encodable {
    let value: (any Encodable)?

    init(_ value: (any Encodable & Sendable)?) { self.value = value }

    func encode(to encoder: any Encoder) throws {
        if let value {
            try value.encode(to: encoder)
        } else {
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        }
    }
}
