#if !canImport(FoundationNetworking)
import Foundation

/// A request's body as URLSession on Apple platforms reads it: one end of a pair of streams, whose other end a thread feeds.
enum BoundBodyStream {
    /// Makes the stream that URLSession reads.
    /// - Parameters:
    ///   - reader: The body.
    ///   - fail: Told what went wrong.
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
        // `@unchecked`: `lock` guards the reader and the stream; the thread that feeds holds it to the end.
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
                        // The other end was closed: nobody wants the rest.
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
