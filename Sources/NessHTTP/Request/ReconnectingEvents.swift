import Foundation

extension RequestBuilder {
    /// Sends the request for server-sent events, and again whenever the connection ends or can't be made (WHATWG HTML, 9.2.3): with the
    /// last event's identifier in `Last-Event-ID`, after the time that the server asked for, or three seconds.
    ///
    /// The sequence ends when the server answers 204. It fails where the answer is no stream of events, and where the request can't be sent.
    /// - Parameter timeout: The longest silence before the connection counts as lost; nil for as long as it takes.
    /// - Returns: The events. The request is sent when the iteration begins; leaving the loop ends it.
    public func serverSentEvents(timeout: Duration? = nil) -> ReconnectingEvents {
        let headers: HTTPHeaders = [HeaderName.accept: "text/event-stream", HeaderName.cacheControl: "no-store"]
        let request = set(.appendAndKeepPreviousValue, headers: headers).validate(using: EventStreamValidator(allowsNoContent: true))
        return ReconnectingEvents(request: request, timeout: timeout)
    }
}

/// Server-sent events, over as many connections as it takes.
public struct ReconnectingEvents: AsyncSequence, Sendable {
    let request: RequestBuilder
    let timeout: Duration?

    /// Begins to read.
    public func makeAsyncIterator() -> Iterator { Iterator(request: request, timeout: timeout) }

    /// Reads the events.
    public struct Iterator: AsyncIteratorProtocol {
        private let request: RequestBuilder
        private let timeout: Duration?
        private var parser = EventParser()
        private var events: ServerSentEvents.Iterator?
        private var isOver = false

        fileprivate init(request: RequestBuilder, timeout: Duration?) {
            self.request = request
            self.timeout = timeout
        }

        /// The next event; nil when the server wants no more connections.
        public mutating func next() async throws -> ServerSentEvent? {
            while !isOver {
                do {
                    if events == nil { try await connect() }
                    if isOver { return nil }
                    let event = try await events?.next()
                    if let known = events?.parser { parser = known }
                    if let event { return event }
                } catch {
                    if let known = events?.parser { parser = known }
                    try Task.checkCancellation()
                    guard (error as? NessError)?.isTransient == true else {
                        isOver = true
                        throw error
                    }
                }
                events = nil
                parser.beginAgain()
                try await request.timekeeper.sleep(parser.retry ?? .seconds(3))
            }
            return nil
        }

        private mutating func connect() async throws {
            var request = request.set(timeout: timeout ?? .seconds(1_000_000_000))
            if let id = parser.lastEventID, !id.isEmpty {
                request = request.set(.appendAndOverwriteSameKey, headers: [HeaderName.lastEventID: id])
            }
            let promise = request.streamRequest()
            let result = try await promise.value
            if result.message.statusCode == 204 {
                isOver = true
                return
            }
            events = ServerSentEvents(result.chunks, parser).makeAsyncIterator()
        }
    }
}
