#if !canImport(FoundationNetworking)
import Foundation

/// A request's body, as URLSession on Apple platforms reads it: one end of a pair of streams. A thread writes to the other end.
enum BoundBodyStream {
    /// Makes the stream that URLSession reads. The writing thread ends when URLSession closes the stream, and when the producers of the
    /// reader are cancelled.
    /// - Parameters:
    ///   - reader: The body.
    ///   - fail: Receives the error.
    static func make(_ reader: HTTPBodyReader, fail: @escaping @Sendable (any Error) -> Void) -> InputStream? {
        var input: InputStream?
        var output: OutputStream?
        Stream.getBoundStreams(withBufferSize: 64 << 10, inputStream: &input, outputStream: &output)
        guard let output else { return input }
        let feeder = Feeder(reader: reader, output: output, fail: fail)
        Thread.detachNewThread { feeder.run() }
        return input
    }

    private final class Feeder: @unchecked Sendable {
        // `@unchecked`: `lock` guards the reader and the stream. The writing thread holds the lock until its end.
        private let lock = NSLock()
        private let reader: HTTPBodyReader
        private let output: OutputStream
        private let fail: @Sendable (any Error) -> Void

        init(reader: HTTPBodyReader, output: OutputStream, fail: @escaping @Sendable (any Error) -> Void) {
            self.reader = reader
            self.output = output
            self.fail = fail
        }

        func run() {
            let failure: (any Error)? = lock.withLock {
                do {
                    try feed()
                    return nil
                } catch {
                    return error
                }
            }
            guard let failure else { return lock.withLock { output.close() } }
            fail(failure)
            // After the task was cancelled: URLSession would take an earlier end of the stream for the end of a whole body.
            URLSessionExchange.cancelQueue.async { [self] in lock.withLock { output.close() } }
        }

        /// Reads the next piece, and blocks this thread while the body's sequence has none. `nil` at the end.
        private func nextPiece() throws -> Data? {
            while true {
                switch try reader.step(upTo: 64 << 10) {
                case .bytes(let data): return data
                case .end: return nil
                case .pending(let producer):
                    let ready = DispatchSemaphore(value: 0)
                    producer.whenReady { ready.signal() }
                    ready.wait()
                }
            }
        }

        private func feed() throws {
            output.open()
            while let data = try nextPiece() {
                var rest = data[...]
                while !rest.isEmpty {
                    let written = rest.withUnsafeBytes { bytes in
                        bytes.bindMemory(to: UInt8.self).baseAddress.map { output.write($0, maxLength: bytes.count) } ?? 0
                    }
                    // URLSession has closed its end, and does not want the rest.
                    guard written > 0 else { return }
                    rest = rest.dropFirst(written)
                }
            }
        }
    }
}
#endif
