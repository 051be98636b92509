import Foundation

/// A request whose body is read as it arrives. The promise settles when the head has arrived.
///
/// ```swift
/// for try await line in ness.get("log").streamRequest().lines { print(line) }
/// ```
///
/// A slow reader holds the server back: up to 1 MiB waits in memory, and then the connection is not read. It stays in use meanwhile, and
/// counts toward the host's limit, so read a stream to its end or leave it. The idle timeout does not run while the reader holds the server
/// back; the deadline does. `URLSessionTransport` on Linux has no such control: there up to 1 GiB more waits in a temporary file, and a
/// reader that falls further behind gets an error.
///
/// Leaving the loop closes the connection. So does releasing the promise, its result and its sequences.
///
/// A status that is not 2xx is a result, as with `dataRequest()`, unless a validator rejects it. Validators see the head only. The timeout
/// also applies while the body arrives: a stream that may be silent for long needs a longer timeout.
///
/// Observers and logs are notified of the end when the reader has ended: when its loop is left, or when the promise, its result and its
/// sequences are released. If the reader cannot use the body, for example because an event is not JSON, they receive that error as well.
public final class StreamPromise: RequestPromise<StreamResult>, @unchecked Sendable {
    // `@unchecked` for the same reason as in `RequestPromise`: this class adds no state.

    /// The body in chunks, as they arrive. The sequence can be read once: a second loop gets only what the first has left.
    ///
    /// The iteration fails with `NessError`, which is `dropped` when its task is canceled, or with the error that `mapError(_:file:line:)`
    /// makes of it.
    public var chunks: ResponseSequence<Data> { ResponseSequence { self.responseChunks.next } }

    /// The body's lines, ended by CR, LF or both, as UTF-8 text, even if the `Content-Type` names another character set. Invalid bytes
    /// become U+FFFD, and a byte order mark is left out. The sequence can be read once: a second loop gets only what the first has left.
    ///
    /// A line that is longer than 16 MiB ends the iteration with `NessError.Kind.responseTooLarge`.
    public var lines: ResponseSequence<String> {
        ResponseSequence {
            var lines = self.responseLines
            return { try await lines.next() }
        }
    }

    private var responseChunks: ResponseChunks { ResponseChunks { try await self.opened().reading } }

    /// Waits for the head, on behalf of a reader. A reader that is canceled at this point ends the stream, as it does later.
    private func opened() async throws -> StreamResult {
        do {
            return try await value
        } catch {
            // The promise may have settled before the cancellation. It can then no longer be dropped, so the stream is.
            result?.reading.drop(becauseOf: nil)
            throw error
        }
    }

    var responseLines: ResponseLines { ResponseLines(responseChunks) }

    /// The body's server-sent events (WHATWG HTML, 9.2). The response has to be a 200 of the type `text/event-stream`. Any other response
    /// ends the iteration with `NessError.Kind.validation`, which contains the start of the body.
    ///
    /// The sequence can be read once: a second loop gets only what the first has left. An event whose data is longer than 16 MiB ends the
    /// iteration with `NessError.Kind.responseTooLarge`.
    public var serverSentEvents: ResponseSequence<ServerSentEvent> {
        ResponseSequence {
            var events = ServerSentEvents(ResponseChunks { try await self.opened().reading(acceptedBy: EventStreamValidator()) })
            return { try await events.next() }
        }
    }

    /// Ends the stream immediately, even after its head has arrived. The connection is closed, unread bytes are discarded, and the
    /// iteration fails with `NessError.Kind.dropped`.
    public override func drop() { end { super.drop() } }

    /// Ends the stream immediately, as `drop()` does.
    /// - Parameter error: The error of the promise, if it has not settled, and of the iteration.
    public override func drop(becauseOf error: any Error) { end(error) { super.drop(becauseOf: error) } }

    private func end(_ error: (any Error)? = nil, _ dropPromise: () -> Void) {
        dropPromise()
        result?.reading.drop(becauseOf: error)
    }

    override class func changingErrors(
        by mapping: @escaping @Sendable (any Error) -> any Error
    ) -> @Sendable (StreamResult) -> StreamResult {
        { StreamResult(message: $0.message, reading: StreamReading($0.reading, changingErrors: mapping)) }
    }

    convenience init(_ call: Call, _ sink: StreamSink, by sender: any RequestSender) {
        self.init(call, by: sender) { response in
            var head = response
            head.body = Data()
            return StreamResult(message: head, reading: StreamReading(sink.buffer, call))
        }
    }
}

/// The result of a stream.
public struct StreamResult: Sendable {
    /// The head of the response. Its body is empty.
    public let message: HTTPResponse
    let reading: StreamReading

    /// The head of the response, which iONess calls `message`.
    public var response: HTTPResponse { message }

    /// The body in chunks, as they arrive: see `StreamPromise.chunks`.
    public var chunks: ResponseSequence<Data> { ResponseSequence { responseChunks.next } }

    var responseChunks: ResponseChunks { ResponseChunks { reading } }

    /// Returns the reader of the body, if a validator accepts the response.
    /// - Throws: `NessError.Kind.validation` with the start of the body, which can then no longer be read.
    func reading(acceptedBy validator: some ResponseValidator) async throws -> StreamReading {
        if validator.validate(for: message) == .valid { return reading }
        var refused = message
        // The rest of the body may never arrive.
        let stopTimer = PipelineClock.realTime.startTimer(after: .seconds(1)) { [buffer = reading.buffer] in buffer.finish(.success(())) }
        defer { stopTimer() }
        do {
            while refused.body.count < Self.refusedLimit, let data = try await reading.next() {
                refused.body.append(data.prefix(Self.refusedLimit - refused.body.count))
            }
        } catch {
            // If the body of an error breaks off, its received part is enough.
            if Task.isCancelled { throw error }
        }
        do {
            try refused.judge(by: validator)
        } catch {
            throw reading.fail(reading.call.explainFinally(error))
        }
        return reading
    }

    /// The most bytes of a rejected body that are read for the error.
    private static let refusedLimit = 64 << 10
}

/// The right to read a stream. When the last reference is released, the exchange ends.
final class StreamReading: Sendable {
    let buffer: StreamBuffer
    let call: Call
    /// The reading that this one wraps to change its errors; `nil` for none.
    private let base: StreamReading?
    private let mapping: (@Sendable (any Error) -> any Error)?

    init(_ buffer: StreamBuffer, _ call: Call) { (self.buffer, self.call, base, mapping) = (buffer, call, nil, nil) }

    /// Wraps another right to read the same body, and changes its errors.
    init(_ base: StreamReading, changingErrors mapping: @escaping @Sendable (any Error) -> any Error) {
        (buffer, call) = (base.buffer, base.call)
        self.base = base
        self.mapping = { error in mapping(base.changed(error)) }
    }

    deinit { if base == nil { leave() } }

    private func changed(_ error: any Error) -> any Error { mapping?(error) ?? error }

    /// Returns the next bytes. `nil` at the end.
    /// - Throws: `NessError`, which is `dropped` if the task is canceled; or the error that `mapping` makes of it.
    func next() async throws -> Data? {
        do {
            return try await buffer.next()
        } catch {
            drop(becauseOf: nil)
            throw changed(call.explain(error))
        }
    }

    /// Decodes a part of the body as JSON.
    /// - Parameters:
    ///   - text: The part.
    ///   - head: The head of the response.
    ///   - type: The type to decode.
    /// - Returns: The value, or the error, which contains the part and the request.
    func decoded<Value: Decodable>(_ text: String, of head: HTTPResponse, as type: Value.Type) -> Result<Value, any Error> {
        var part = head
        part.body = Data(text.utf8)
        return Result { try part.parseJSONBody(type) }.mapError { call.explain($0) }
    }

    /// Ends the exchange because the reader has stopped. The request has then succeeded: observers see a success with its head.
    func leave() { call.endReading(with: nil) }

    /// Ends the exchange with an error, because the reader cannot use the body. Observers get the same error.
    /// - Returns: The error.
    func fail(_ error: any Error) -> any Error {
        buffer.abandon(error)
        call.endReading(with: error)
        return changed(error)
    }

    /// Ends the exchange and discards the unread bytes.
    func drop(becauseOf error: (any Error)?) {
        let dropped = error ?? call.error(.dropped, "dropped by the caller")
        if buffer.abandon(dropped) { call.endReading(with: call.observedDrop(dropped), isDrop: true) } else { leave() }
    }
}
