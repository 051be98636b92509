import Foundation

extension RequestBuilder {
    /// Sends the request and hands the response on as it comes.
    /// - Parameter retryControl: The control that decides on further attempts instead of the manager's; none is made once the body has begun.
    /// - Returns: A promise of the head, from which the body can be read. It fails with `NessError`, or with what a loader of the caller's threw.
    @discardableResult
    public func streamRequest(with retryControl: (any RetryControl)? = nil) -> StreamPromise { stream(retryControl) }

    /// Sends the request and decodes the lines of the response, each a JSON value, as they come.
    ///
    /// The request asks for JSON, and the response is judged as for `dataRequest(decoding:)`: a status that is not 2xx and a Content-Type that
    /// is not JSON are refused.
    ///
    /// ```swift
    /// for try await entry in ness.httpRequest(withUrl: "log").streamRequest(decoding: Entry.self) { print(entry) }
    /// ```
    /// - Parameters:
    ///   - type: The type of each line.
    ///   - errorType: The type of the API's errors, decoded from the body of a response that is refused for its status; the manager's
    ///     `decodingErrors` unless given.
    ///   - retryControl: The control that decides on further attempts instead of the manager's; none is made once the body has begun.
    ///   - decoder: The decoder; the manager's unless given.
    /// - Returns: The values, and the promise of the head as `promise`. The request starts in this call.
    @discardableResult
    public func streamRequest<Value: Decodable & Sendable>(
        decoding type: Value.Type, decodingErrors errorType: (any DecodableError.Type)? = nil, with retryControl: (any RetryControl)? = nil,
        using decoder: JSONDecoder? = nil
    ) -> ResponseJSONLines<Value> {
        let checksJSON = checksContentType ?? sender.defaults.checksContentType
        let errorType = errorType ?? sender.defaults.decodingErrors
        var builder = accepting(
            "application/x-ndjson, application/json;q=0.9" + (errorType == nil ? "" : ", application/problem+json;q=0.8"))
        builder.validators.insert(StatusCodeValidator.success, at: 0)
        if checksJSON { builder.validators.append(JSONTypeValidator(value: "\(type)", isStream: true)) }
        let promise = builder.stream(retryControl) { choices in
            choices.parseError = errorType.map { errorReader($0, checksJSON: checksJSON, decoder) }
        }
        return ResponseJSONLines(promise, [], decoder)
    }

    private func stream(_ retryControl: (any RetryControl)?, _ change: (inout Call.Choices) -> Void = { _ in }) -> StreamPromise {
        let sink = StreamSink()
        let sending = prepared(.stream, retryControl) { choices in
            choices.sink = sink
            change(&choices)
        }
        let checksJSON = checksContentType ?? sender.defaults.checksContentType
        return StreamPromise(sending, checksContentType: checksJSON, running: sender.running) { [sender] call in
            let load = Promise<HTTPResponse>(makeDropError: sending.makeDropError)
            let remove = sender.running.add(load, groups: call.choices.groups)
            load.finally(on: .immediate) { response, error in
                remove()
                if let response { sink.finish(.success(response)) } else if let error { sink.finish(.failure(error)) }
            }
            load.start { try await sender.perform(call) }
            let reading = StreamReading(sink.buffer, load, call)
            return try await withTaskCancellationHandler {
                var head = try await sink.head.value
                head.body = Data()
                return StreamResult(message: head, reading: reading)
            } onCancel: {
                load.drop()
            }
        }
    }
}
