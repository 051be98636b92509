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

    /// Requests lines, each a JSON value, and decodes them as they arrive.
    ///
    /// The request accepts JSON, and Ness checks the response like `dataRequest(decoding:)`: it rejects a status that is not 2xx and a
    /// Content-Type that is not JSON.
    ///
    /// ```swift
    /// for try await entry in ness.get("log").lines(decoding: Entry.self) {
    ///     print(entry)
    /// }
    /// ```
    /// - Parameter type: The type of each line.
    /// - Returns: The values. The request is sent when the iteration starts. A rejected response ends the iteration with
    ///   `NessError.Kind.validation`, whose `underlying` is the API's error. A line that cannot be decoded ends it with
    ///   `NessError.Kind.decoding`; with `results` it is an element instead.
    public func lines<Value: Decodable & Sendable>(decoding type: Value.Type) -> DecodedSequence<Value> {
        var builder = accepting(
            "application/x-ndjson, application/json;q=0.9" + (decodesJSONErrors ? ", application/problem+json;q=0.8" : ""))
        builder.validators.insert(StatusCodeValidator.success, at: 0)
        if checksJSON { builder.validators.append(JSONTypeValidator(value: "\(type)", isStream: true)) }
        return DecodedSequence { [builder] in
            let promise = builder.streamRequest()
            var lines = promise.responseLines
            return (
                {
                    while let line = try await lines.next() {
                        if line.allSatisfy({ $0 == " " || $0 == "\t" }) { continue }
                        let result = try await promise.value
                        return result.reading.decoded(line, of: result.message, as: type)
                    }
                    return nil
                },
                { error in (try? await promise.value)?.reading.fail(error) ?? error }
            )
        }
    }
}
