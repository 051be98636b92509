#if !canImport(FoundationNetworking)
import Foundation

/// A request's body, as URLSession on Apple platforms reads it: one end of a pair of streams. A thread writes to the other end.
enum BoundBodyStream {
    /// Makes the stream that URLSession reads.
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

        func run() { lock.withLock { feed() } }

        private func feed() {
            output.open()
            defer { output.close() }
            do {
                while case let data = try reader.read(upTo: 64 << 10), !data.isEmpty {
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
            } catch {
                fail(error)
            }
        }
    }
}
#endif
