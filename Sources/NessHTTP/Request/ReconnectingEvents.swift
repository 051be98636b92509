import Foundation

extension RequestBuilder {
    /// Sends the request for server-sent events, and again whenever the connection ends or cannot be made (WHATWG HTML, 9.2.3): with the last
    /// event's identifier in `Last-Event-ID`, after the time that the server asked for (half a second at least), or three seconds.
    ///
    /// A request that is not idempotent, such as a POST to a chat API, is sent once unless `reconnects` says otherwise: its sequence ends with
    /// the stream, and fails where the connection breaks.
    ///
    /// The sequence ends when the server answers 204, and at an event that `endsAt` names. It fails where the answer is not a stream of events,
    /// and where the request cannot be sent. A `set(deadline:)` counts for all connections together; a `set(timeout:)` is the longest silence.
    /// - Parameters:
    ///   - timeout: The longest silence before the connection counts as lost; nil for that of `set(timeout:)`, or for no limit.
    ///   - reconnects: True if the request is sent again when the connection ends; nil for requests that are idempotent.
    ///   - endsAt: Returns true for an event that ends the sequence and is not delivered. By default the data `[DONE]` does, by which the APIs
    ///     of language models say that nothing follows. Runs in the task that reads.
    /// - Returns: The events. The request is sent when the iteration begins; leaving the loop ends it.
    public func serverSentEvents(
        timeout: Duration? = nil, reconnects: Bool? = nil,
        endsAt: @escaping @Sendable (ServerSentEvent) -> Bool = { $0.data == "[DONE]" }
    ) -> ReconnectingEvents {
        let headers: HTTPHeaders = [HeaderName.accept: "text/event-stream", HeaderName.cacheControl: "no-store"]
        let request = set(.appendAndKeepPreviousValue, headers: headers).validate(using: EventStreamValidator(allowsNoContent: true))
        return ReconnectingEvents(
            request: request.set(timeout: timeout ?? self.timeout ?? .seconds(1_000_000_000)),
            deadline: deadline ?? sender.defaults.deadline,
            reconnects: reconnects ?? isIdempotent ?? method.isIdempotent, endsAt: endsAt)
    }
}

/// Server-sent events, over as many connections as it takes.
public struct ReconnectingEvents: AsyncSequence, Sendable {
    let request: RequestBuilder
    let deadline: Duration?
    let reconnects: Bool
    let endsAt: @Sendable (ServerSentEvent) -> Bool

    /// Begins to read.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Reads the events.
    public struct Iterator: AsyncIteratorProtocol {
        private let sequence: ReconnectingEvents
        /// When the deadline of all connections passes, on the manager's clock.
        private let end: Duration?
        private var parser = EventParser()
        private var events: ServerSentEvents.Iterator?
        private var isOver = false

        /// The shortest time between two connections: a server that asks for none must not be stormed.
        private static let shortestDelay = Duration.milliseconds(500)

        fileprivate init(_ sequence: ReconnectingEvents) {
            self.sequence = sequence
            end = sequence.deadline.map { sequence.request.timekeeper.elapsed() + $0.clampedForSleep }
        }

        /// The next event; nil when the server wants no more connections, or none is to follow.
        public mutating func next() async throws -> ServerSentEvent? {
            while !isOver {
                var failure: (any Error)?
                do {
                    if events == nil { try await connect() }
                    if isOver { return nil }
                    let event = try await events?.next()
                    if let known = events?.parser { parser = known }
                    if let event {
                        if !sequence.endsAt(event) { return event }
                        isOver = true
                    }
                } catch {
                    if let known = events?.parser { parser = known }
                    failure = error
                }
                events = nil
                if isOver { return nil }
                try Task.checkCancellation()
                try await pause(after: failure)
            }
            return nil
        }

        private mutating func connect() async throws {
            var request = sequence.request
            if let end { request = request.set(deadline: end - request.timekeeper.elapsed()) }
            if let id = parser.lastEventID, !id.isEmpty {
                request = request.set(.appendAndOverwriteSameKey, headers: [HeaderName.lastEventID: id])
            }
            let result = try await request.streamRequest().value
            if result.message.statusCode == 204 {
                isOver = true
                return
            }
            events = ServerSentEvents(result.chunks, parser).makeAsyncIterator()
        }

        /// Waits until the next connection, if there is to be one.
        /// - Parameter failure: The error that ended the connection; nil if the server ended it.
        /// - Throws: The error that ends the sequence.
        private mutating func pause(after failure: (any Error)?) async throws {
            let clock = sequence.request.timekeeper
            let delay = Swift.max(parser.retry ?? .seconds(3), Self.shortestDelay)
            let isPassing = failure.map { ($0 as? NessError)?.isTransient == true } ?? true
            let isInTime = end.map { clock.elapsed() + delay < $0 } ?? true
            guard sequence.reconnects, isPassing, isInTime else {
                isOver = true
                if let failure { throw failure }
                guard sequence.reconnects, !isInTime else { return }
                throw NessError.timedOut(
                    NessError.Context(request: try? sequence.request.build(), reason: "the deadline passes before the next connection"))
            }
            parser.beginAgain()
            try await clock.sleep(delay)
        }
    }
}
