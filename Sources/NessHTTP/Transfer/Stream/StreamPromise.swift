import Foundation

/// A request whose response is handed on as it comes. It settles when the head is there.
///
/// ```swift
/// for try await line in ness.httpRequest(.get, withUrl: "log").streamRequest().lines { print(line) }
/// ```
///
/// What comes faster than it is read waits: 1 MiB in memory, the rest in a temporary file, up to 1 GiB; a reader who falls further behind
/// gets an error. Leaving the loop closes the connection, as does letting go of the promise and all that came of it.
///
/// A status that is not 2xx is a result, as with `dataRequest()`, unless a validator says otherwise; validators see the head alone. The timeout
/// counts while the body comes, too: a stream that may be silent for long needs a longer one.
public final class StreamPromise: RequestPromise<StreamResult>, @unchecked Sendable {
    // `@unchecked` as `RequestPromise` is: what this class adds is one constant.

    /// The body, piece by piece, as it comes.
    public var chunks: ResponseChunks { ResponseChunks { try await self.value.reading } }

    /// The body's lines, ended by CR, LF or both, as text in UTF-8; bytes that are none become U+FFFD.
    public var lines: ResponseLines { ResponseLines(chunks) }

    /// The body's server-sent events (WHATWG HTML, 9.2). The response has to be a 200 of the type `text/event-stream`; any other ends the
    /// iteration with `NessError.validation`, which holds the start of the body.
    public var serverSentEvents: ServerSentEvents {
        ServerSentEvents(ResponseChunks { try await self.value.reading(acceptedBy: [EventStreamValidator()]) })
    }

    /// The body's lines, each a JSON value; empty ones are passed over.
    ///
    /// The response has to have a 2xx status and a JSON type, as other typed results. `streamRequest(decoding:)` asks the server for one, too.
    /// - Parameters:
    ///   - type: The type of each line.
    ///   - decoder: The decoder; the manager's unless given.
    /// - Returns: The values. A response that is refused ends the iteration with `NessError.validation`, which holds the start of the body;
    ///   a line that cannot be decoded with `NessError.decoding`.
    public func json<Value: Decodable & Sendable>(of type: Value.Type, with decoder: JSONDecoder? = nil) -> ResponseJSONLines<Value> {
        var validators: [any ResponseValidator] = [StatusCodeValidator.success]
        if checksContentType { validators.append(JSONTypeValidator(value: "\(type)", isStream: true)) }
        return ResponseJSONLines(self, validators, decoder)
    }

    /// Ends the stream at once, also after its head has arrived: the connection is closed, what has not been read is discarded, and the iteration
    /// fails with `NessError.dropped`.
    public override func drop() { end { super.drop() } }

    /// Ends the stream at once, as `drop()` does.
    /// - Parameter error: The error of the promise, if it has not settled, and of the iteration.
    public override func drop(becauseOf error: any Error) { end(error) { super.drop(becauseOf: error) } }

    private func end(_ error: (any Error)? = nil, _ dropPromise: () -> Void) {
        dropPromise()
        guard let reading = result?.reading, reading.drop(becauseOf: error) else { return }
        tracker.settled(byDrop: true, isWhole: false)
    }

    /// True if typed results of this stream refuse a response that says it is not JSON.
    private let checksContentType: Bool

    init(
        _ sending: PreparedCall, checksContentType: Bool, running: RunningRequests,
        operation: @escaping @Sendable (Call) async throws -> StreamResult
    ) {
        self.checksContentType = checksContentType
        let made = Lock<StreamResult?>(nil)
        super.init(sending, running: running) { call in
            let result = try await operation(call)
            made.withLock { $0 = result }
            return result.message
        } value: { _ in
            // Let go of here: the reading ends when nobody has the result any more.
            let result = made.withLock { made in
                defer { made = nil }
                return made
            }
            guard let result else { throw CancellationError() }
            return result
        }
    }
}

/// The result of a stream.
public struct StreamResult: Sendable {
    /// The head of the response; its body is empty.
    public let message: HTTPResponse
    let reading: StreamReading

    /// The body, piece by piece, as it comes. It can be read once.
    public var chunks: ResponseChunks {
        let reading = reading
        return ResponseChunks { reading }
    }

    /// The body, if no validator refuses the response.
    /// - Throws: `NessError.validation` with the start of the body, after which nobody can read it any more.
    func reading(acceptedBy validators: [any ResponseValidator]) async throws -> StreamReading {
        guard validators.contains(where: { $0.validate(for: message) != .valid }) else { return reading }
        var refused = message
        // A page of an error that breaks off shows what came of it.
        while refused.body.count < Self.refusedLimit, let data = try? await reading.next() {
            refused.body.append(data.prefix(Self.refusedLimit - refused.body.count))
        }
        reading.leave()
        for validator in validators {
            do {
                try refused.judge(by: validator)
            } catch {
                throw reading.call.explainFinally(error)
            }
        }
        return reading
    }

    /// The number of bytes of a refused body that are read for the error.
    private static let refusedLimit = 64 << 10
}

/// Someone may still read a stream. When nobody can any more, its exchange ends.
final class StreamReading: Sendable {
    private let buffer: StreamBuffer
    private let load: Promise<HTTPResponse>
    let call: Call

    init(_ buffer: StreamBuffer, _ load: Promise<HTTPResponse>, _ call: Call) {
        self.buffer = buffer
        self.load = load
        self.call = call
    }

    deinit { leave() }

    /// The next bytes; nil at the end.
    /// - Throws: `NessError`, or `CancellationError` when the task is cancelled.
    func next() async throws -> Data? {
        do {
            return try await buffer.next()
        } catch {
            drop(becauseOf: nil)
            throw error is CancellationError ? error : call.explain(error)
        }
    }

    /// Ends the exchange because nobody reads on. The request has then ended well: observers hear of a success with its head.
    func leave() {
        if load.isCompleted { return }
        call.tracker.markLeft()
        load.drop()
    }

    /// Ends the exchange and discards what has not been read.
    /// - Returns: False if the whole body had arrived and been read.
    @discardableResult
    func drop(becauseOf error: (any Error)?) -> Bool {
        let dropped = error ?? call.error(.dropped, "dropped by the caller")
        let wasOpen = buffer.abandon(dropped)
        load.drop(becauseOf: dropped)
        return wasOpen
    }
}
