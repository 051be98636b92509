import Foundation

extension RequestBuilder {
    /// Requests server-sent events, and reconnects whenever the connection ends or fails (WHATWG HTML, 9.2.3).
    ///
    /// A new connection sends the last event's identifier in `Last-Event-ID`. It follows after the time that the server requested, at least
    /// half a second, or else after three seconds.
    ///
    /// A request that is not idempotent, such as a POST to a chat API, is sent once unless `reconnects` is true: its sequence ends with the
    /// stream, and fails if the connection breaks.
    ///
    /// The sequence ends when the server responds with 204, and at an event for which `endsAt` returns true. It fails if the response is
    /// not an event stream, or if the request cannot be sent. A `set(deadline:)` applies to all connections together. A `set(timeout:)` is
    /// the longest time without a byte.
    /// - Parameters:
    ///   - timeout: The longest time without a byte before the connection counts as lost. `nil` for that of `set(timeout:)`, or for no
    ///     limit.
    ///   - reconnects: True to reconnect when the connection ends. `nil` to reconnect only idempotent requests.
    ///   - endsAt: Returns true for an event that ends the sequence and is not delivered. By default no event does. Runs in the task that
    ///     reads.
    /// - Returns: The events. The first request is sent when the iteration starts. Leaving the loop ends the connection.
    public func reconnectingEvents(
        timeout: Duration? = nil, reconnects: Bool? = nil, endsAt: @escaping @Sendable (ServerSentEvent) -> Bool = { _ in false }
    ) -> ResponseSequence<ServerSentEvent> {
        ResponseSequence {
            var events = ReconnectingEvents(self, timeout: timeout, reconnects: reconnects, endsAt: endsAt)
            return { try await events.next() }
        }
    }
}

/// Reads the server-sent events of a request, over as many connections as necessary.
struct ReconnectingEvents {
    private let request: RequestBuilder
    private let reconnects: Bool
    /// True if it is an error that a response ends before the event that ends the sequence.
    private let requiresEnd: Bool
    private let endsAt: @Sendable (ServerSentEvent) -> Bool
    /// The deadline of all connections: its time on the manager's clock, and its duration as it was set, for errors.
    private let deadline: (end: Duration, duration: Duration)?
    private var parser = EventParser()
    private var events: ServerSentEvents?
    private var isOver = false
    /// The head of the response that the last event belongs to.
    private var head: HTTPResponse?
    /// Weak: the connection closes when the events are released.
    private weak var reading: StreamReading?

    /// The shortest time between two connections, even if the server allows a shorter one.
    private static let shortestDelay = Duration.milliseconds(500)
    /// A timeout that never passes, in place of the manager's.
    private static let noTimeout = Duration.seconds(1_000_000_000)

    /// Makes a reader, whose deadline and environment are those of this moment.
    init(
        _ builder: RequestBuilder, timeout: Duration?, reconnects: Bool?, requiresEnd: Bool = false,
        endsAt: @escaping @Sendable (ServerSentEvent) -> Bool
    ) {
        let headers: HTTPHeaders = [HeaderName.accept: "text/event-stream", HeaderName.cacheControl: "no-store"]
        request = builder.set(.appendAndKeepPreviousValue, headers: headers)
            .validate(using: EventStreamValidator(allowsNoContent: true))
            .set(timeout: timeout ?? builder.timeout ?? Self.noTimeout)
            // All connections are one request, which keeps the environment with which it started.
            .set(environment: builder.environment ?? builder.sender.environment)
        self.reconnects = reconnects ?? builder.settings.isIdempotent ?? builder.method.isIdempotent
        self.requiresEnd = requiresEnd
        self.endsAt = endsAt
        deadline = builder.timeToDeadline.map { left in
            (builder.pipelineClock.elapsed() + left.clampedForSleep, builder.options[SharedDeadline.self] ?? left)
        }
    }

    /// Returns the next event. `nil` after the end of the sequence.
    mutating func next() async throws -> ServerSentEvent? {
        while !isOver {
            var failure: (any Error)?
            do {
                if let event = try await readEvent() { return event }
            } catch {
                failure = error
            }
            events = nil
            if isOver {
                if let failure { throw failure }
                return nil
            }
            if Task.isCancelled {
                stop()
                throw NessError.cancelled(failure)
            }
            try await pause(after: failure)
        }
        return nil
    }

    /// Returns the next event of the connection, after connecting if necessary. Returns `nil` when the connection or the sequence ends.
    private mutating func readEvent() async throws -> ServerSentEvent? {
        if events == nil { try await connect() }
        // The next connection continues with the identifier and the delay that this one has received, even if it failed.
        defer { if let events { parser = events.parser } }
        guard let event = try await events?.next() else {
            if requiresEnd, !reconnects { throw endSequence(with: missingEnd()) }
            return nil
        }
        if !endsAt(event) { return event }
        stop()
        return nil
    }

    /// Decodes the data of the last event as JSON.
    /// - Returns: The value, or the error, which contains the event's data and the request.
    func decode<Value: Decodable>(_ event: ServerSentEvent, as type: Value.Type) -> Result<Value, any Error> {
        guard let head, let reading else { return .failure(NessError.cancelled(nil)) }
        return reading.decoded(event.data, of: head, as: type)
    }

    /// Ends the sequence and closes the connection.
    mutating func stop() { (isOver, events) = (true, nil) }

    /// Ends the sequence and closes the connection, because the caller cannot use the events. Observers get the same error.
    /// - Returns: The error.
    mutating func endSequence(with error: any Error) -> any Error {
        defer { stop() }
        return reading?.fail(error) ?? error
    }

    /// Sends the request. A 204 ends the sequence.
    private mutating func connect() async throws {
        var request = request
        if let deadline {
            let left = deadline.end - request.pipelineClock.elapsed()
            // A reader may ask for the next event late. A deadline that is not positive would be taken for a mistake in the request.
            guard left > .zero else { throw timedOut("the deadline of \(deadline.duration) has passed") }
            request = request.set(deadline: left).set(option: SharedDeadline.self, to: deadline.duration)
        }
        // An empty identifier removes the field, even one that the caller has set.
        if let id = parser.lastEventID { request = request.set(header: HeaderName.lastEventID, to: id.isEmpty ? nil : id) }
        let result = try await request.streamRequest().value
        (head, reading) = (result.message, result.reading)
        if result.message.statusCode == 204 {
            stop()
            if requiresEnd { throw result.reading.fail(missingEnd()) }
            return
        }
        events = ServerSentEvents(result.responseChunks, parser)
    }

    private func timedOut(_ reason: String) -> NessError {
        NessError(.timedOut, NessError.Context(request: try? request.build(), reason: reason))
    }

    private func missingEnd() -> NessError {
        let reason = "the stream ended before its final event"
        return NessError(.truncated, NessError.Context(request: head?.request, response: head, reason: reason))
    }

    /// Waits until the next connection, or ends the sequence.
    /// - Parameter failure: The error that ended the connection. `nil` if the server ended it.
    /// - Throws: The error that ends the sequence.
    private mutating func pause(after failure: (any Error)?) async throws {
        let clock = request.pipelineClock
        let delay = max(parser.retry ?? .seconds(3), Self.shortestDelay)
        let mayReconnect = failure.map { ($0 as? NessError)?.isTransient == true } ?? true
        if let failure, !mayReconnect || !reconnects {
            stop()
            throw failure
        }
        if !reconnects { return stop() }
        if let deadline, clock.elapsed() + delay >= deadline.end {
            stop()
            throw failure ?? timedOut("the deadline of \(deadline.duration) passes before the next connection")
        }
        parser.beginAgain()
        do { try await clock.sleep(delay) } catch {
            stop()
            throw NessError.cancelled(error)
        }
    }
}
