import Foundation

#if os(Linux)
import CNessCurl

/// Compresses bytes as DEFLATE (RFC 1951) with zlib, which is looked up at run time.
///
/// Used by one thread at a time.
final class Deflater {
    private let stream: UnsafeMutableRawPointer

    /// Makes a compressor. Fails without zlib, or without memory.
    init?() {
        guard let stream = ness_deflate_begin() else { return nil }
        self.stream = stream
    }

    deinit { ness_deflate_end(stream) }

    /// Compresses the next bytes.
    /// - Parameters:
    ///   - input: The bytes. They may be empty.
    ///   - ends: True for the last bytes.
    /// - Returns: The compressed bytes that are complete. They may be empty unless `ends` is true.
    func deflate(_ input: Data, ends: Bool) throws -> Data {
        var output = Data(), room = [UInt8](repeating: 0, count: 32 << 10)
        try input.withUnsafeBytes { input in
            let bytes = input.bindMemory(to: UInt8.self)
            var offset = 0
            while true {
                var consumed = 0, produced = 0
                let code = room.withUnsafeMutableBufferPointer { room in
                    ness_deflate(
                        stream, bytes.baseAddress.map { $0 + offset }, bytes.count - offset, ends, room.baseAddress, room.count, &consumed,
                        &produced)
                }
                offset += consumed
                output += room[..<produced]
                // Code 1 means the end. Otherwise all output was written once room is left.
                if code == 1 || (!ends && offset == bytes.count && produced < room.count) { return }
                guard code == 0, consumed + produced > 0 else { throw InvalidRequest("zlib fails with the code \(code)") }
            }
        }
        return output
    }
}
#else
import Compression

/// Compresses bytes as DEFLATE (RFC 1951) with Apple's Compression, which calls it zlib.
///
/// Used by one thread at a time.
final class Deflater {
    private final class Output {
        var bytes = Data()
    }

    private let output: Output
    private let filter: OutputFilter

    init?() {
        let output = Output()
        guard let filter = try? OutputFilter(.compress, using: .zlib, writingTo: { output.bytes += $0 ?? Data() }) else { return nil }
        self.output = output
        self.filter = filter
    }

    func deflate(_ input: Data, ends: Bool) throws -> Data {
        // An empty input would end the stream.
        if !input.isEmpty { try filter.write(input) }
        if ends { try filter.finalize() }
        defer { output.bytes = Data() }
        return output.bytes
    }
}
#endif
