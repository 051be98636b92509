import Foundation

/// Typed results. Ness decodes off the main thread, after the last attempt. A drop during decoding still takes effect.
extension RequestBuilder {
    /// Sends the request and decodes the response as JSON. `String` and `Data` are the body itself, regardless of its type.
    ///
    /// The status must be 2xx, and every validator must accept the response. The request has `Accept: application/json`, unless the request
    /// or the manager sets `Accept`. A response whose `Content-Type` is not JSON is rejected: see `set(checksContentType:)`.
    ///
    /// ```swift
    /// ness.get("users/1")
    ///     .decodingErrors(as: APIProblem.self)
    ///     .dataRequest(decoding: User.self)
    ///     .handle { error in
    ///         let problem = (error as? NessError)?.underlying as? APIProblem
    ///         print(problem?.title ?? "\(error)")
    ///     }
    /// ```
    /// - Parameter type: The type to decode. For an `Optional`, an empty body, as with 204, gives `nil`. For any other type it is an error.
    /// - Returns: A promise of the value. It fails with `NessError`, or with an error that a custom loader threw. For a status that is not
    ///   2xx the error is `validation`, with the response, and with the API's error as `underlying`: see `decodingErrors(as:)`.
    @discardableResult
    public func dataRequest<Value: Decodable & Sendable>(decoding type: Value.Type) -> RequestPromise<Value> {
        valueRequest(.decoded(type))
    }

    /// Sends the request, and requires a 2xx status. Every validator must accept the response. Ness ignores the content of the body.
    /// - Parameter type: `Void.self`.
    /// - Returns: A promise that is fulfilled when the response has arrived. It fails with `NessError`, or with an error that a custom
    ///   loader threw.
    @discardableResult
    public func dataRequest(decoding type: Void.Type) -> RequestPromise<Void> { valueRequest(.nothing) }

    /// Sends the request and decodes the response with a custom decoder, in place of JSON.
    ///
    /// The status must be 2xx, and every validator must accept the response. Ness sets no `Accept` and checks no `Content-Type`: use
    /// `set(header:to:)` and `validate(contentTypes:)`.
    /// - Parameter decoder: The decoder. It runs off the main thread, even for an empty body.
    /// - Returns: A promise of the value. It fails with `NessError`, or with an error that a custom loader threw. An error of the decoder
    ///   is the `underlying` of `NessError.Kind.decoding`.
    @discardableResult
    public func dataRequest<Decoder: ResponseDecoder>(decodedBy decoder: Decoder) -> RequestPromise<Decoder.Decoded>
    where Decoder.Decoded: Sendable {
        valueRequest(.decoded(by: decoder))
    }

    // MARK: setters

    /// Sets the decoder for JSON, in place of the manager's `jsonDecoder`: for values, for the API's errors, and for
    /// `HTTPResponse.parseJSONBody()`.
    /// - Parameter jsonDecoder: The decoder; `nil` for the manager's.
    public func set(jsonDecoder: JSONDecoder?) -> RequestBuilder { with { $0.jsonDecoder = jsonDecoder } }

    /// Sets the type of the API's errors, in place of the manager's `decodingErrors`. It applies to every sending method, including
    /// downloads and streams.
    ///
    /// ```swift
    /// let user = try await ness.get("users", id)
    ///     .decodingErrors(as: APIProblem.self)
    ///     .decoded(as: User.self)
    /// ```
    /// - Parameter type: The type. It is decoded from the JSON body of a response that is rejected for its status, and becomes the
    ///   `underlying` of `NessError.Kind.validation`. If the body contains no such error, or its `Content-Type` is not JSON, there is no
    ///   `underlying`.
    public func decodingErrors(as type: any DecodableError.Type) -> RequestBuilder { with { $0.errorDecoding = .json(type) } }

    /// Decodes the API's errors with a custom decoder, such as errors in XML, in place of the manager's `decodingErrors`. It applies to
    /// every sending method, including downloads and streams.
    ///
    /// ```swift
    /// struct Fault: Error { let text: String }
    /// struct FaultDecoder: ResponseDecoder {
    ///     func decode(from data: Data) throws -> Fault {
    ///         Fault(text: String(decoding: data, as: UTF8.self))
    ///     }
    /// }
    /// let film = try await ness.get("film")
    ///     .decodingErrors(by: FaultDecoder())
    ///     .downloadRequest(intoFolder: folder).value
    /// ```
    ///
    /// - Parameter decoder: Decodes the body of a response that is rejected for its status, unless it is empty. Ness sets no `Accept` and
    ///   checks no `Content-Type`. The decoder runs off the main thread. The decoded error becomes the `underlying` of
    ///   `NessError.Kind.validation`; if the decoder throws, there is no `underlying`.
    public func decodingErrors<Decoder: ResponseDecoder>(by decoder: Decoder) -> RequestBuilder where Decoder.Decoded: Error {
        with { $0.errorDecoding = .custom { $0.body.isEmpty ? nil : try? decoder.decode(from: $0.body) } }
    }

    /// Sets whether a typed result rejects a response whose `Content-Type` is not JSON.
    /// - Parameter checksContentType: `true` to fail with `NessError.Kind.validation` for any `Content-Type` other than `application/json`,
    ///   `text/json` and types that end in `+json`. A response without a `Content-Type` is always accepted.
    public func set(checksContentType: Bool) -> RequestBuilder { with { $0.checksContentType = checksContentType } }
}
