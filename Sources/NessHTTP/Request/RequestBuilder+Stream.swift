import Foundation

extension RequestBuilder {
    /// Sends the request and delivers the body as it arrives.
    /// - Parameter retryControl: The retry policy; `nil` for that of `set(retry:)`, else the manager's; `.never` for no retries. Ness does
    ///   not retry once the body has started.
    /// - Returns: A promise of the head, from which the body can be read. It fails with `NessError`, or with an error that a custom loader
    ///   threw.
    @discardableResult
    public func streamRequest(with retryControl: (any RetryControl)? = nil) -> StreamPromise { stream(retryControl) }

    /// Sends the request and decodes the lines of the response, each a JSON value, as they arrive.
    ///
    /// The request accepts JSON, and Ness checks the response like `dataRequest(decoding:)`: it rejects a status that is not 2xx and a
    /// Content-Type that is not JSON.
    ///
    /// ```swift
    /// let entries = ness.get("log").streamRequest(decoding: Entry.self)
    /// for try await entry in entries { print(entry) }
    /// ```
    /// - Parameters:
    ///   - type: The type of each line.
    ///   - errorType: The type of the API's errors, decoded from the body of a response that is rejected for its status. By default the
    ///     manager's `decodingErrors`.
    ///   - retryControl: The retry policy; `nil` for that of `set(retry:)`, else the manager's; `.never` for no retries. Ness does not
    ///     retry once the body has started.
    ///   - decoder: The decoder. By default the manager's.
    /// - Returns: The values, and the promise of the head as `promise`. The request starts in this call.
    @discardableResult
    public func streamRequest<Value: Decodable & Sendable>(
        decoding type: Value.Type, decodingErrors errorType: (any DecodableError.Type)? = nil, with retryControl: (any RetryControl)? = nil,
        using decoder: JSONDecoder? = nil
    ) -> ResponseJSONLines<Value> {
        let checksJSON = checksContentType ?? sender.defaults.checksContentType
        let errorType = errorType ?? (decodeError == nil ? sender.defaults.decodingErrors : nil)
        var builder = accepting(
            "application/x-ndjson, application/json;q=0.9" + (errorType == nil ? "" : ", application/problem+json;q=0.8"))
        builder.validators.insert(StatusCodeValidator.success, at: 0)
        if checksJSON { builder.validators.append(JSONTypeValidator(value: "\(type)", isStream: true)) }
        let promise = builder.stream(retryControl) { options in
            options.parseError = errorReader(errorType, decoder)
        }
        return ResponseJSONLines(promise, decoder)
    }

    func stream(_ retryControl: (any RetryControl)?, _ change: (inout CallOptions) -> Void = { _ in }) -> StreamPromise {
        let sink = StreamSink()
        let call = makeCall(.stream, retryControl) { options in
            options.sink = sink
            change(&options)
        }
        sink.belongs(to: call)
        return StreamPromise(call, sink, by: sender)
    }
}
