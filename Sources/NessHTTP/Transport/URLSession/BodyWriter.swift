import Foundation

/// Writes a request's body to a stream, as far as the stream takes bytes without blocking. It never waits, so it needs no thread.
///
/// On Apple platforms URLSession reads the other end of the stream: see `BoundBodyStream`. The exchange closes the writer once the task has
/// ended. URLSession does not: after a cancellation, or when no connection was made, it neither reads its end nor closes it.
final class BodyWriter: NSObject, StreamDelegate, @unchecked Sendable {
    // `@unchecked`: `lock` guards every var, the reader and the stream. Everything except `open()` also runs on `queue`, so that no thread
    // waits for the lock while a file is read. `open()` is called before the stream's first event, when no file is read yet.
    private let lock = NSLock()
    private let reader: HTTPBodyReader
    private let output: OutputStream
    private let fail: @Sendable (any Error) -> Void
    private let pieceLength: Int
    /// The bytes that were read, and not yet written.
    private var rest = Data()
    /// True once the body could not be read. Later events must not read from the failed reader.
    private var hasFailed = false
    private var isClosed = false
    /// The stream's events arrive here. `close()` and the sequences of the body switch to this queue.
    let queue = DispatchQueue(label: "ness.body-writer")

    /// Makes a writer. `open()` starts it.
    /// - Parameters:
    ///   - reader: The body.
    ///   - output: The stream to write to.
    ///   - pieceLength: The number of bytes to read at a time.
    ///   - fail: Receives the error if the body cannot be read. The stream then stays open until `close()`, because URLSession would take
    ///     its end for the end of a complete body.
    init(_ reader: HTTPBodyReader, to output: OutputStream, pieceLength: Int = 64 << 10, fail: @escaping @Sendable (any Error) -> Void) {
        self.reader = reader
        self.output = output
        self.pieceLength = pieceLength
        self.fail = fail
    }

    /// Opens the stream. The first bytes are written when the stream has room.
    func open() {
        lock.withLock {
            output.delegate = self
            output.open()
        }
    }

    /// Closes the stream, and releases the body and its file. Further calls do nothing.
    func close() { queue.async { [self] in lock.withLock { closeNow() } } }

    private func closeNow() {
        guard !isClosed else { return }
        isClosed = true
        output.delegate = nil
        output.close()
        rest = Data()
        for producer in reader.producers { producer.cancel() }
        reader.closeFile()
    }

    func stream(_ stream: Stream, handle event: Stream.Event) {
        if event == .hasSpaceAvailable || event == .errorOccurred || event == .endEncountered { advance() }
    }

    /// Writes as much as the stream takes now. Runs on the queue.
    private func advance() {
        let failure: (any Error)? = lock.withLock {
            do {
                try write()
                return nil
            } catch {
                hasFailed = true
                return error
            }
        }
        if let failure { fail(failure) }
    }

    /// True if URLSession has closed its end, and does not want the rest.
    private var hasOutputEnded: Bool { [.error, .atEnd, .closed].contains(output.streamStatus) }

    private func write() throws {
        while !isClosed, !hasFailed {
            if hasOutputEnded { return closeNow() }
            // The stream sends an event when it has room again.
            guard output.hasSpaceAvailable else { return }
            if rest.isEmpty {
                switch try reader.step(upTo: pieceLength) {
                case .bytes(let data): rest = data
                case .end: return closeNow()
                case .pending(let producer):
                    return producer.whenReady { [weak self] in
                        guard let self else { return }
                        queue.async { self.advance() }
                    }
                }
            }
            let written = rest.withUnsafeBytes { bytes in
                bytes.bindMemory(to: UInt8.self).baseAddress.map { output.write($0, maxLength: bytes.count) } ?? 0
            }
            // 0 means that there was no room after all, unless the stream has ended.
            guard written > 0 else {
                if written < 0 || hasOutputEnded { closeNow() }
                return
            }
            rest = rest.dropFirst(written)
        }
    }
}

#if !canImport(FoundationNetworking)
/// A request's body, as URLSession on Apple platforms reads it: one end of a pair of streams. A `BodyWriter` writes to the other end.
enum BoundBodyStream {
    /// Makes the stream that URLSession reads, and its writer, which must be closed once the task has ended.
    /// - Parameters:
    ///   - reader: The body.
    ///   - fail: Receives the error.
    static func make(
        _ reader: HTTPBodyReader, fail: @escaping @Sendable (any Error) -> Void
    ) -> (input: InputStream, writer: BodyWriter)? {
        var input: InputStream?
        var output: OutputStream?
        Stream.getBoundStreams(withBufferSize: 64 << 10, inputStream: &input, outputStream: &output)
        guard let input, let output else { return nil }
        let writer = BodyWriter(reader, to: output, fail: fail)
        CFWriteStreamSetDispatchQueue(output as CFWriteStream, writer.queue)
        writer.open()
        return (input, writer)
    }
}
#endif
