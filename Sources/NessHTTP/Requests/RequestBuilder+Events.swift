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
    /// ends, and continues after the last event: see `reconnectingEvents(timeout:reconnects:endsAt:)`.
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
    ///     `NessError.Kind.truncated`. A server that fails midway may still end its response properly. Has no effect without an `end`, or
    ///     on a request that reconnects instead.
    ///   - reconnects: True to reconnect when the connection ends. `nil` to reconnect only idempotent requests.
    /// - Returns: The values. The request is sent when the iteration starts. A rejected response ends the iteration with
    ///   `NessError.Kind.validation`, whose `underlying` is the API's error. Data that cannot be decoded ends it with
    ///   `NessError.Kind.decoding`; with `results` they are an element instead.
    public func events<Value: Decodable & Sendable>(
        decoding type: Value.Type, until end: String? = "[DONE]", requiresEnd: Bool = false, reconnects: Bool? = nil
    ) -> DecodedSequence<Value> {
        decoded(reconnects, requiresEnd: requiresEnd && end != nil, endsAt: { $0.data == end })
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
    ///   - requiresEnd: True if the end of a response without such a value is an error: the iteration then ends with
    ///     `NessError.Kind.truncated`.
    ///   - reconnects: True to reconnect when the connection ends. `nil` to reconnect only idempotent requests.
    /// - Returns: The values. The request is sent when the iteration starts. The errors are those of `events(decoding:until:)`.
    public func events<Value: Decodable & Sendable>(
        decoding type: Value.Type, endingWhen isEnd: @escaping @Sendable (Value) -> Bool, requiresEnd: Bool = false, reconnects: Bool? = nil
    ) -> DecodedSequence<Value> {
        decoded(reconnects, requiresEnd: requiresEnd, isEnd: isEnd)
    }

    private func decoded<Value: Decodable & Sendable>(
        _ reconnects: Bool?, requiresEnd: Bool, endsAt: @escaping @Sendable (ServerSentEvent) -> Bool = { _ in false },
        isEnd: @escaping @Sendable (Value) -> Bool = { _ in false }
    ) -> DecodedSequence<Value> {
        DecodedSequence {
            var events = ReconnectingEvents(
                self, timeout: timeout ?? sender.defaults.timeout, reconnects: reconnects, requiresEnd: requiresEnd, endsAt: endsAt)
            return (
                {
                    while let event = try await events.next() {
                        if event.data.allSatisfy(\.isWhitespace) { continue }
                        let result = events.decode(event, as: Value.self)
                        if case .success(let value) = result, isEnd(value) { events.stop() }
                        return result
                    }
                    return nil
                },
                { events.endSequence(with: $0) }
            )
        }
    }
}
