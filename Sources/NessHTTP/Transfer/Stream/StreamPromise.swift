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
    // `@unchecked` as `RequestPromise` is: this class adds nothing to it.

    /// The body, piece by piece, as it comes.
    public var chunks: ResponseChunks { ResponseChunks { try await self.value.reading } }

    /// The body's lines, ended by CR, LF or both, as text in UTF-8; bytes that are none become U+FFFD.
    public var lines: ResponseLines { ResponseLines(chunks) }

    /// The body's server-sent events (WHATWG HTML, 9.2). The response has to be a 200 of the type `text/event-stream`.
    public var serverSentEvents: ServerSentEvents {
        ServerSentEvents(
            ResponseChunks {
                let result = try await self.value
                try ServerSentEvents.check(result.message)
                return result.reading
            })
    }

    /// The body's lines, each a JSON value; empty ones are passed over. A line that can't be decoded ends the sequence with `NessError.decoding`.
    /// - Parameters:
    ///   - type: What each line is.
    ///   - decoder: What decodes it.
    public func json<Value: Decodable & Sendable>(of type: Value.Type, with decoder: JSONDecoder = JSONDecoder()) -> ResponseJSONLines<
        Value
    > {
        ResponseJSONLines(self, decoder)
    }
}

/// What a stream promises.
public struct StreamResult: RequestResult {
    /// The head of the response; its body is empty.
    public let message: HTTPResponse
    let reading: StreamReading

    /// The body, piece by piece, as it comes. It can be read once.
    public var chunks: ResponseChunks {
        let reading = reading
        return ResponseChunks { reading }
    }
}

/// Someone may still read a stream. When nobody can any more, its exchange ends.
final class StreamReading: Sendable {
    private let buffer: StreamBuffer
    private let load: Promise<HTTPResponse>

    init(_ buffer: StreamBuffer, _ load: Promise<HTTPResponse>) {
        self.buffer = buffer
        self.load = load
    }

    deinit { end() }

    /// The next bytes; nil at the end.
    func next() async throws -> Data? {
        do {
            return try await buffer.next()
        } catch {
            end()
            throw error
        }
    }

    /// Nobody reads on.
    func end() { load.drop() }
}

extension RequestBuilder {
    /// Sends the request and hands the response on as it comes.
    /// - Parameter retryControl: What decides on further attempts, instead of the manager's; none is made once the body has begun.
    /// - Returns: A promise of the head, from which the body can be read. It fails with `NessError`, or with what a loader of the caller's threw.
    @discardableResult
    public func streamRequest(with retryControl: (any RetryControl)? = nil) -> StreamPromise {
        let tracker = RequestTracker(ness.timekeeper)
        let request = Result { try build(.stream, validators, retryControl, tracker) }
        return StreamPromise(tracker, request: try? request.get(), running: ness.running) { [ness] in
            let sink = StreamSink()
            let load = Promise<HTTPResponse>(makeDropError: tracker.makeDropError(try? request.get()))
            let remove = ness.running.add(load, groups: (try? request.get().groups) ?? [])
            load.finally(on: .immediate) { response, error in
                remove()
                if let response { sink.finish(.success(response)) } else if let error { sink.finish(.failure(error)) }
            }
            load.start {
                var request = try request.get()
                request.sink = sink
                return try await ness.perform(.success(request), tracker)
            }
            let reading = StreamReading(sink.buffer, load)
            return try await withTaskCancellationHandler {
                var head = try await sink.head.value
                head.body = Data()
                head.request.sink = nil
                return StreamResult(message: head, reading: reading)
            } onCancel: {
                load.drop()
            }
        }
    }
}
