import Foundation

extension RequestBuilder {
    /// Sends the request and delivers the body as it arrives. Ness does not retry once the body has started.
    /// - Returns: A promise of the head, from which the body can be read. It fails with `NessError`, or with an error that a custom loader
    ///   threw.
    @discardableResult
    public func streamRequest() -> StreamPromise {
        let sink = StreamSink()
        let call = makeCall(.stream) { $0.sink = sink }
        sink.belongs(to: call)
        return StreamPromise(call, sink, by: sender)
    }

    /// Sends the request and decodes the lines of the response, each a JSON value, as they arrive.
    ///
    /// The request accepts JSON, and Ness checks the response like `dataRequest(decoding:)`: it rejects a status that is not 2xx and a
    /// Content-Type that is not JSON.
    ///
    /// ```swift
    /// let entries = ness.get("log").streamRequest(decoding: Entry.self)
    /// for try await entry in entries { print(entry) }
    /// ```
    /// - Parameter type: The type of each line.
    /// - Returns: The values, and the promise of the head as `promise`. The request starts in this call.
    @discardableResult
    public func streamRequest<Value: Decodable & Sendable>(decoding type: Value.Type) -> ResponseJSONLines<Value> {
        var builder = accepting(
            "application/x-ndjson, application/json;q=0.9" + (decodesJSONErrors ? ", application/problem+json;q=0.8" : ""))
        builder.validators.insert(StatusCodeValidator.success, at: 0)
        if checksJSON { builder.validators.append(JSONTypeValidator(value: "\(type)", isStream: true)) }
        return ResponseJSONLines(builder.streamRequest())
    }
}
