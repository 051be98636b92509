import Foundation

/// A request whose body is read as it arrives. The promise settles when the head has arrived.
///
/// ```swift
/// for try await line in ness.httpRequest(.get, withUrl: "log").streamRequest().lines { print(line) }
/// ```
///
/// A slow reader holds the server back: up to 1 MiB waits in memory, and then the connection is not read. It stays in use meanwhile, and
/// counts for the host's limit, so read a stream to its end or leave it. The idle timeout does not run while the reader holds the server
/// back; the deadline does. `URLSessionTransport` on Linux has no such control: there up to 1 GiB more waits in a temporary file, and a
/// reader that falls further behind gets an error.
///
/// Leaving the loop closes the connection. So does releasing the promise, its result and its sequences.
///
/// A status that is not 2xx is a result, as with `dataRequest()`, unless a validator rejects it. Validators see the head only. The timeout
/// also applies while the body arrives: a stream that may be silent for long needs a longer timeout.
public final class StreamPromise: RequestPromise<StreamResult>, @unchecked Sendable {
    // `@unchecked` for the same reason as in `RequestPromise`: this class adds one constant.

    /// The body, piece by piece, as it arrives.
    public var chunks: ResponseChunks { ResponseChunks { try await self.value.reading } }

    /// The body's lines, ended by CR, LF or both, as UTF-8 text. Invalid bytes become U+FFFD.
    public var lines: ResponseLines { ResponseLines(chunks) }

    /// The body's server-sent events (WHATWG HTML, 9.2). The response has to be a 200 of the type `text/event-stream`. Any other response
    /// ends the iteration with `NessError.validation`, which contains the start of the body.
    public var serverSentEvents: ServerSentEvents {
        ServerSentEvents(ResponseChunks { try await self.value.reading(acceptedBy: [EventStreamValidator()]) })
    }

    /// Decodes the body's lines, each a JSON value. Empty lines are skipped.
    ///
    /// The response must have a 2xx status and a JSON type, like other typed results. `streamRequest(decoding:)` also asks the server for
    /// JSON.
    /// - Parameters:
    ///   - type: The type of each line.
    ///   - decoder: The decoder. By default the manager's.
    /// - Returns: The values. A rejected response ends the iteration with `NessError.validation`, which contains the start of the body. A
    ///   line that cannot be decoded ends it with `NessError.decoding`.
    public func json<Value: Decodable & Sendable>(of type: Value.Type, with decoder: JSONDecoder? = nil) -> ResponseJSONLines<Value> {
        var validators: [any ResponseValidator] = [StatusCodeValidator.success]
        if checksContentType { validators.append(JSONTypeValidator(value: "\(type)", isStream: true)) }
        return ResponseJSONLines(self, validators, decoder)
    }

    /// Ends the stream at once, even after its head has arrived. The connection is closed, unread bytes are discarded, and the iteration
    /// fails with `NessError.dropped`.
    public override func drop() { end { super.drop() } }

    /// Ends the stream at once, as `drop()` does.
    /// - Parameter error: The error of the promise, if it has not settled, and of the iteration.
    public override func drop(becauseOf error: any Error) { end(error) { super.drop(becauseOf: error) } }

    private func end(_ error: (any Error)? = nil, _ dropPromise: () -> Void) {
        dropPromise()
        result?.reading.drop(becauseOf: error)
    }

    /// True if typed results of this stream reject a response whose type is not JSON.
    private let checksContentType: Bool

    init(_ call: Call, _ sink: StreamSink, checksContentType: Bool, by sender: any RequestSender) {
        self.checksContentType = checksContentType
        super.init(call, by: sender) { response in
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

    /// The body, piece by piece, as it arrives. It can be read once: a second loop gets only what the first has left.
    public var chunks: ResponseChunks {
        let reading = reading
        return ResponseChunks { reading }
    }

    /// Returns the reader of the body, if no validator rejects the response.
    /// - Throws: `NessError.validation` with the start of the body, which can then no longer be read.
    func reading(acceptedBy validators: [any ResponseValidator]) async throws -> StreamReading {
        guard validators.contains(where: { $0.validate(for: message) != .valid }) else { return reading }
        var refused = message
        // If the body of an error breaks off, its received part is enough.
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

    /// The most bytes of a rejected body that are read for the error.
    private static let refusedLimit = 64 << 10
}

/// The right to read a stream. When the last reference is released, the exchange ends.
final class StreamReading: Sendable {
    let buffer: StreamBuffer
    let call: Call

    init(_ buffer: StreamBuffer, _ call: Call) {
        self.buffer = buffer
        self.call = call
    }

    deinit { leave() }

    /// Returns the next bytes. `nil` at the end.
    /// - Throws: `NessError`, which is `dropped` if the task is cancelled.
    func next() async throws -> Data? {
        do {
            return try await buffer.next()
        } catch {
            drop(becauseOf: nil)
            throw call.explain(error)
        }
    }

    /// Ends the exchange because the reader has stopped. The request has then succeeded: observers see a success with its head.
    func leave() {
        guard !call.hasEnded, let head = call.response else { return }
        call.end(with: .success(head))
    }

    /// Ends the exchange and discards the unread bytes.
    func drop(becauseOf error: (any Error)?) {
        let dropped = error ?? call.error(.dropped, "dropped by the caller")
        let wasOpen = buffer.abandon(dropped)
        call.end(with: .failure(dropped), isDrop: true)
        if wasOpen { call.markDropped() }
    }
}
