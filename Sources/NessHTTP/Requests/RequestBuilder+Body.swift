import Foundation

/// The setters of the body. The last one wins, together with its header fields.
extension RequestBuilder {
    /// Sets bytes as the body.
    /// - Parameters:
    ///   - body: The bytes.
    ///   - contentType: The media type, such as `image/png`. `nil` for `application/octet-stream`, unless a `Content-Type` is set.
    public func set(body: Data, contentType: String? = nil) -> RequestBuilder {
        set { contentType.map { HTTPBody(body, contentType: $0) } ?? HTTPBody(body) }
    }

    /// Sets a finished body.
    /// - Parameter body: The body; `nil` for none.
    public func set(body: HTTPBody?) -> RequestBuilder { with { $0.body = .success(body) } }

    /// Sets a sequence as the body. Ness reads it during the upload, and can send it only once: see
    /// `HTTPBody.stream(_:length:contentType:)`.
    /// - Parameters:
    ///   - pieces: The sequence. Ness reads it in a separate task, off the main thread.
    ///   - length: The number of bytes; `nil` if it is unknown.
    ///   - contentType: The media type.
    public func set<Pieces: AsyncSequence & Sendable>(
        streamBody pieces: Pieces, length: Int64? = nil, contentType: String = "application/octet-stream"
    ) -> RequestBuilder where Pieces.Element == Data {
        set { .stream(pieces, length: length, contentType: contentType) }
    }

    /// Sets a sequence as the body. A closure makes it for each attempt: see `HTTPBody.stream(length:contentType:_:)`.
    /// - Parameters:
    ///   - makePieces: Makes the sequence. Runs off the main thread, when the body is about to be sent.
    ///   - length: The number of bytes; `nil` if it is unknown.
    ///   - contentType: The media type.
    public func set<Pieces: AsyncSequence>(
        streamBody makePieces: @escaping @Sendable () async throws -> Pieces, length: Int64? = nil,
        contentType: String = "application/octet-stream"
    ) -> RequestBuilder where Pieces.Element == Data {
        set { .stream(length: length, contentType: contentType, makePieces) }
    }

    /// Sets a body that a closure writes during the upload: see `HTTPBody.stream(length:contentType:_:)`.
    ///
    /// ```swift
    /// ness.put("logs").set(streamBody: { writer in
    ///     try await writer.write(Data("started".utf8))
    /// })
    /// ```
    /// - Parameters:
    ///   - write: Writes the body. Runs in a separate task, off the main thread, for each attempt.
    ///   - length: The number of bytes; `nil` if it is unknown.
    ///   - contentType: The media type.
    public func set(
        streamBody write: @escaping @Sendable (HTTPBodyWriter) async throws -> Void, length: Int64? = nil,
        contentType: String = "application/octet-stream"
    ) -> RequestBuilder {
        set { .stream(length: length, contentType: contentType, write) }
    }

    /// Sets a string as the body, as `text/plain` unless a `Content-Type` is set.
    /// - Parameters:
    ///   - stringBody: The string.
    ///   - encoding: The character encoding. A string that it cannot represent fails the request.
    public func set(stringBody: String, encoding: String.Encoding = .utf8) -> RequestBuilder {
        set { try .text(stringBody, encoding: encoding) }
    }

    /// Sets a JSON value, usually as a literal: `["name": "Fluffles", "tags": ["a", 1, true]]`.
    /// - Parameter jsonBody: The value.
    public func set(jsonBody: JSONValue) -> RequestBuilder { set { try .json(jsonBody) } }

    /// Sets a JSON object with values of any `Encodable` types: `["name": name, "age": age]`.
    /// - Parameter jsonBody: The names and values. `nil` becomes null.
    @_disfavoredOverload
    public func set(jsonBody: [String: (any Encodable & Sendable)?]) -> RequestBuilder {
        set { try .json(encoding: jsonBody.mapValues(AnyEncodable.init)) }
    }

    /// Sets a value as the body, as JSON.
    /// - Parameters:
    ///   - jsonEncodable: The value.
    ///   - encoder: The encoder; `nil` for the manager's.
    public func set(jsonEncodable: some Encodable, with encoder: JSONEncoder? = nil) -> RequestBuilder {
        set { try .json(encoding: jsonEncodable, with: encoder ?? sender.defaults.jsonEncoder) }
    }

    /// Sets a form as the body, as `application/x-www-form-urlencoded`.
    /// - Parameter form: The fields, in order.
    public func set(form: URLQuery) -> RequestBuilder { set { .form(form) } }

    /// Sets a form from a value whose type conforms to `Encodable`, as `application/x-www-form-urlencoded`.
    /// - Parameters:
    ///   - value: A structure, a class or a dictionary: see `URLQuery(encoding:with:)`. A value that cannot be encoded fails the request
    ///     with `NessError.Kind.invalidRequest` when it is started.
    ///   - rules: The rules for dates, bytes, names, arrays and Booleans.
    public func set(formEncodable value: some Encodable, with rules: URLQuery.EncodingRules = URLQuery.EncodingRules()) -> RequestBuilder {
        set { .form(try URLQuery(encoding: value, with: rules)) }
    }

    /// Sets a form that may contain files, as `multipart/form-data`.
    /// - Parameter multipart: The form.
    public func set(multipart: MultipartForm) -> RequestBuilder { set { try multipart.makeBody() } }

    /// Sets a form that may contain files, which a closure fills.
    ///
    /// ```swift
    /// ness.post("cats").set(multipart: { form in
    ///     form.append("tabby", named: "color")
    ///     form.append(file: photo, named: "photo", contentType: "image/jpeg")
    /// }).dataRequest()
    /// ```
    /// - Parameter fill: Adds the parts to an empty form. Runs in this call. An error that it throws fails the request with
    ///   `NessError.Kind.invalidRequest` when it is started.
    public func set(multipart fill: (inout MultipartForm) throws -> Void) -> RequestBuilder {
        set {
            var form = MultipartForm()
            try fill(&form)
            return try form.makeBody()
        }
    }

    /// Sets a value as the body, with a custom encoder.
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder. It runs in this call.
    public func set<Encoder: HTTPBodyEncoder>(body value: Encoder.Value, with encoder: Encoder) -> RequestBuilder {
        set { HTTPBody(try encoder.encode(value), headers: HTTPHeaders(encoder.relatedHeaders ?? [:])) }
    }

    /// Sets whether the body is compressed with gzip: see `HTTPBody.gzipped()`. The order of this call and the body's setter does not
    /// matter.
    ///
    /// Bytes in memory are compressed in the call that starts the request, on its thread; any other body during the upload. The request
    /// fails with `NessError.Kind.invalidRequest` when it is started if zlib is missing, or if the request sets a `Content-Encoding` other
    /// than gzip.
    ///
    /// ```swift
    /// ness.post("log").set(jsonEncodable: entries).set(gzipsBody: true).dataRequest()
    /// ```
    /// - Parameter gzipsBody: `true` to compress it.
    public func set(gzipsBody: Bool) -> RequestBuilder { with { $0.gzipsBody = gzipsBody } }

    /// Sets whether a body of unknown length is first read into memory, so that the request has a `Content-Length`: see
    /// `HTTPBody.collected()`. The order of this call and the body's setter does not matter.
    /// - Parameter collectsBody: `true` to read it into memory first.
    public func set(collectsBody: Bool) -> RequestBuilder { with { $0.collectsBody = collectsBody } }

    /// Returns the body, compressed and collected if the caller asked for that.
    func finishedBody() throws -> HTTPBody? {
        guard var body = try body.get() else { return nil }
        if gzipsBody {
            if let other = headers[HeaderName.contentEncoding], !other.equalsIgnoringCase("gzip") {
                throw InvalidRequest("the request already sets a Content-Encoding")
            }
            body = try body.gzipped()
        }
        return collectsBody ? body.collected() : body
    }

    /// Sets a body, or the error that prevents one.
    func set(body: Result<HTTPBody?, any Error>) -> RequestBuilder { with { $0.body = body } }

    private func set(_ make: () throws -> HTTPBody) -> RequestBuilder { with { $0.body = Result { try make() } } }
}

/// A value whose type is erased to `Encodable`; `nil` is encoded as null.
package struct AnyEncodable: Encodable {
    private let value: any Encodable & Sendable

    package init(_ value: (any Encodable & Sendable)?) { self.value = value ?? JSONValue.null }

    package func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}
