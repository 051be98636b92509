#if os(Linux)
import CNessCurl
import Foundation

/// Removes one content coding of a body, and detects a truncated body.
///
/// Used by one thread at a time.
final class BodyInflater {
    private enum Format: String, CaseIterable {
        case gzip, deflate, brotli = "br", zstandard = "zstd"

        func begin() -> UnsafeMutableRawPointer? {
            switch self {
            case .gzip, .deflate: ness_inflate_begin(Int32(NESS_ZLIB))
            case .brotli: ness_inflate_begin(Int32(NESS_BROTLI))
            case .zstandard: ness_inflate_begin(Int32(NESS_ZSTANDARD))
            }
        }
    }

    private let format: Format
    private var stream: UnsafeMutableRawPointer
    /// The input that the library has not consumed, from `offset` on.
    private var input: [UInt8] = []
    private var offset = 0
    /// True at the end of a gzip member or a Zstandard frame. Another one may follow.
    private var isAtEnd = false
    /// True until the library has consumed input.
    private var isFresh = true
    /// The number of consumed bytes since the last decoded one: padding, and members or blocks without content.
    private var idleCount = 0
    /// True if the library filled the output, so that it may hold more.
    private var isPending = false

    /// The most consecutive bytes that may decode to nothing. A limit on decoded bytes would never end a body of such bytes.
    static let idleLimit = 1 << 20

    /// The content codings whose libraries the process has.
    static let codings: [String] = Format.allCases.filter { format in
        guard let stream = format.begin() else { return false }
        ness_inflate_end(stream)
        return true
    }.map(\.rawValue)

    /// Makes an inflater. Fails for an unknown coding, and without its library.
    /// - Parameter coding: The content coding, in lower case.
    init?(_ coding: String) {
        guard let format = Format(rawValue: coding == "x-gzip" ? "gzip" : coding), let stream = format.begin() else { return nil }
        self.format = format
        self.stream = stream
    }

    deinit { ness_inflate_end(stream) }

    /// Adds encoded bytes.
    func add(_ bytes: UnsafeBufferPointer<UInt8>) { input += bytes }

    /// Decodes the next bytes.
    /// - Parameter output: Receives the bytes. It must not be empty.
    /// - Returns: The number of decoded bytes. 0 if more input is needed.
    /// - Throws: `TransportError` of the kind `malformedResponse`.
    func inflate(into output: UnsafeMutableBufferPointer<UInt8>) throws -> Int {
        while true {
            let rest = input.count - offset
            // Repeated calls without input are an error to libzstd.
            if rest == 0, isAtEnd || !isPending { return 0 }
            guard idleCount <= Self.idleLimit else {
                throw TransportError(.malformedResponse, "\(Self.idleLimit) bytes of the compressed body decode to nothing")
            }
            if isAtEnd, format == .gzip, input[offset] == 0 {
                // Some tools pad a gzip file with zero bytes to the size of a block.
                let padding = input[offset...].prefix { $0 == 0 }.count
                offset += padding
                idleCount += padding
                continue
            }
            if isAtEnd {
                // A gzip file may have several members (RFC 1952, 2.2), a body of Zstandard several frames (RFC 8878, 3).
                guard format == .zstandard || (format == .gzip && input[offset] == 0x1F), ness_inflate_reset(stream) else {
                    throw TransportError(.malformedResponse, "bytes follow the end of the compressed body")
                }
                isAtEnd = false
            }
            // The first two bytes tell zlib's format from raw DEFLATE.
            if isFresh, rest < 2, format == .deflate { return 0 }
            let (produced, code) = step(output)
            let isDamaged = code == NESS_INFLATE_DAMAGED
            if isDamaged, isFresh, format == .deflate, let raw = ness_inflate_begin(Int32(NESS_RAW_DEFLATE)) {
                // Some servers send raw DEFLATE where they announce zlib's format.
                ness_inflate_end(stream)
                (stream, isFresh, offset) = (raw, false, 0)
                continue
            }
            guard !isDamaged else { throw TransportError(.malformedResponse, "the compressed body is damaged") }
            isFresh = false
            isAtEnd = code == 1
            isPending = produced == output.count
            dropConsumed()
            if produced > 0 { return produced }
            // After the end of a member, the next one may follow.
            if !isAtEnd { return 0 }
        }
    }

    /// Makes room for more input.
    private func dropConsumed() {
        guard offset == input.count else { return }
        input.removeAll(keepingCapacity: true)
        offset = 0
    }

    /// Runs the library once on the remaining input.
    private func step(_ output: UnsafeMutableBufferPointer<UInt8>) -> (produced: Int, code: Int32) {
        var consumed = 0, produced = 0
        let code = input.withUnsafeBufferPointer { input in
            ness_inflate(
                stream, input.baseAddress.map { $0 + offset }, input.count - offset, output.baseAddress, output.count, &consumed,
                &produced)
        }
        offset += consumed
        idleCount = produced > 0 ? 0 : idleCount + consumed
        return (produced, code)
    }

    /// Checks that the body is complete. An empty body counts as complete.
    /// - Throws: `TransportError` of the kind `truncated`.
    func finish() throws {
        guard isAtEnd || (isFresh && input.isEmpty) else { throw TransportError(.truncated, "the compressed body ends early") }
    }
}
#endif
