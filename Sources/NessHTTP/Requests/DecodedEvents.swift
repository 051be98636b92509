import Foundation

extension RequestBuilder {
    /// Requests server-sent events and decodes the data of each one as JSON, the form in which language model APIs stream.
    ///
    /// ```swift
    /// let chunks = ness.post("chat/completions")
    ///     .set(jsonBody: [
    ///         "model": "small", "stream": true,
    ///         "messages": [["role": "user", "content": "Hello"]],
    ///     ])
    ///     .events(decoding: Chunk.self)
    /// for try await chunk in chunks { print(chunk.text, terminator: "") }
    /// ```
    ///
    /// **Reconnecting.** A request that is not idempotent, such as a POST, is sent once. Any other request reconnects when the connection
    /// ends, and continues after the last event: see `serverSentEvents(timeout:reconnects:endsAt:)`.
    ///
    /// **Stopping.** Leaving the loop or canceling its task closes the connection immediately, and so does the event that ends the
    /// sequence.
    ///
    /// **Back pressure.** A slow reader slows the server down: see `StreamPromise`.
    ///
    /// The response must be a 200 of the type `text/event-stream`, or a 204, which is a sequence without events. Events without data are
    /// skipped. The longest time without a byte is that of `set(timeout:)`, else the manager's.
    /// - Parameters:
    ///   - type: The type of each event's data.
    ///   - end: The data that ends the sequence and is not delivered. `nil` for none: the sequence ends with the stream.
    ///   - requiresEnd: True if the end of a response without the data `end` is an error: the iteration then ends with
    ///     `NessError.truncated`. A server that fails midway may still end its response properly. Has no effect without an `end`, or on a
    ///     request that reconnects instead.
    ///   - reconnects: True to reconnect when the connection ends. `nil` to reconnect only idempotent requests.
    /// - Returns: The values. The request is sent when the iteration starts. A rejected response ends the iteration with
    ///   `NessError.validation`, whose `underlying` is the API's error. Data that cannot be decoded ends it with `NessError.decoding`; with
    ///   `results` they are an element instead.
    public func events<Value: Decodable & Sendable>(
        decoding type: Value.Type, until end: String? = "[DONE]", requiresEnd: Bool = false, reconnects: Bool? = nil
    ) -> DecodedEvents<Value> {
        var events = jsonEvents(reconnects) { $0.data == end }
        events.requiresEnd = requiresEnd && end != nil
        return DecodedEvents(events: events, isEnd: nil)
    }

    /// Requests server-sent events and decodes the data of each one as JSON, up to a value that a closure recognizes as the last.
    ///
    /// ```swift
    /// let parts = ness.post("messages").set(jsonEncodable: prompt)
    ///     .events(
    ///         decoding: Part.self, endingWhen: { $0.type == "message_stop" },
    ///         requiresEnd: true)
    /// ```
    ///
    /// In all other respects this method works like `events(decoding:until:)`.
    /// - Parameters:
    ///   - type: The type of each event's data.
    ///   - isEnd: Returns true for the value that ends the sequence, which is delivered as the last one. Runs where the sequence is
    ///     iterated.
    ///   - requiresEnd: True if the end of a response without such a value is an error: the iteration then ends with `NessError.truncated`.
    ///   - reconnects: True to reconnect when the connection ends. `nil` to reconnect only idempotent requests.
    /// - Returns: The values. The request is sent when the iteration starts. The errors are those of `events(decoding:until:)`.
    public func events<Value: Decodable & Sendable>(
        decoding type: Value.Type, endingWhen isEnd: @escaping @Sendable (Value) -> Bool, requiresEnd: Bool = false, reconnects: Bool? = nil
    ) -> DecodedEvents<Value> {
        var events = jsonEvents(reconnects) { _ in false }
        events.requiresEnd = requiresEnd
        return DecodedEvents(events: events, isEnd: isEnd)
    }

    private func jsonEvents(_ reconnects: Bool?, endsAt: @escaping @Sendable (ServerSentEvent) -> Bool) -> ReconnectingEvents {
        reconnectingEvents(timeout ?? sender.defaults.timeout, reconnects, endsAt)
    }
}

/// The decoded data of server-sent events, as they arrive. Leaving the loop ends the connection.
public struct DecodedEvents<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    let events: ReconnectingEvents
    /// Returns true for the value that ends the sequence.
    let isEnd: (@Sendable (Value) -> Bool)?

    /// Sends the request when the first value is requested.
    public func makeAsyncIterator() -> ResponseSequence<Value>.Iterator {
        var reader = makeReader()
        return .init {
            guard let result = try await reader.next() else { return nil }
            if case .failure(let error) = result { throw reader.events.fail(error) }
            return try result.get()
        }
    }

    /// The values as results: data that cannot be decoded are a failure with `NessError.decoding`, and the iteration continues.
    ///
    /// ```swift
    /// for try await result in request.events(decoding: Chunk.self).results {
    ///     switch result {
    ///     case .success(let chunk): print(chunk.text, terminator: "")
    ///     case .failure(let error): print(error)
    ///     }
    /// }
    /// ```
    public var results: ResponseSequence<Result<Value, any Error>> {
        ResponseSequence {
            var reader = makeReader()
            return { try await reader.next() }
        }
    }

    private func makeReader() -> Reader { Reader(events: events.makeAsyncIterator(), isEnd: isEnd) }

    /// Reads and decodes the events.
    private struct Reader {
        var events: ReconnectingEvents.Iterator
        let isEnd: (@Sendable (Value) -> Bool)?

        mutating func next() async throws -> Result<Value, any Error>? {
            while let event = try await events.next() {
                if event.data.allSatisfy(\.isWhitespace) { continue }
                let result = events.decode(event, as: Value.self)
                if case .success(let value) = result, isEnd?(value) == true { events.stop() }
                return result
            }
            return nil
        }
    }
}
