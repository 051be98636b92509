#if !canImport(FoundationNetworking)
import Foundation

/// A request's body, as URLSession on Apple platforms reads it: one end of a pair of streams. A `BodyWriter` writes to the other end.
enum BoundBodyStream {
    /// Makes the stream that URLSession reads, and its writer, which has to be closed when the exchange ends.
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
