#if canImport(CNessCurl)
import CNessCurl
import Foundation

/// Removes the content coding of a body, and detects a truncated body.
///
/// Used by one thread at a time.
final class BodyInflater {
    private enum Format { case gzip, deflate }

    private let format: Format
    private var stream: UnsafeMutableRawPointer
    private var output = [UInt8](repeating: 0, count: 64 << 10)
    /// True between the members of a gzip file, and before the first byte.
    private var isWhole = false
    private var isEmpty = true

    /// True if zlib is available, so that a request may ask for a compressed body.
    static let isAvailable: Bool = {
        guard let stream = ness_inflate_begin(false) else { return false }
        ness_inflate_end(stream)
        return true
    }()

    /// Makes an inflater. Fails for an unknown coding.
    /// - Parameter coding: The content coding, in lower case.
    init?(_ coding: String) {
        switch coding {
        case "gzip", "x-gzip": format = .gzip
        case "deflate": format = .deflate
        default: return nil
        }
        guard let stream = ness_inflate_begin(false) else { return nil }
        self.stream = stream
    }

    deinit { ness_inflate_end(stream) }

    /// Inflates a piece.
    /// - Parameters:
    ///   - input: The piece.
    ///   - take: Receives the decoded bytes, in order.
    /// - Throws: `TransportError` of the kind `malformedResponse`.
    func inflate(_ input: UnsafeBufferPointer<UInt8>, _ take: (UnsafeBufferPointer<UInt8>) throws -> Void) throws {
        var rest = input[...]
        while !rest.isEmpty {
            // A gzip file may have several members (RFC 1952, 2.2).
            if isWhole {
                guard format == .gzip, rest.first == 0x1F, ness_inflate_reset(stream) == 0 else {
                    throw TransportError(.malformedResponse, "bytes follow the end of the compressed body")
                }
                isWhole = false
            }
            var (consumed, code) = try step(rest, take)
            // Some servers send raw DEFLATE where they announce zlib's format.
            if code == -3, isEmpty, format == .deflate, let raw = ness_inflate_begin(true) {
                ness_inflate_end(stream)
                stream = raw
                (consumed, code) = try step(rest, take)
            }
            isEmpty = false
            guard code == 0 || code == 1 else {
                throw TransportError(.malformedResponse, "the compressed body is damaged")
            }
            isWhole = code == 1
            rest = rest.dropFirst(consumed)
        }
    }

    private func step(
        _ input: Slice<UnsafeBufferPointer<UInt8>>, _ take: (UnsafeBufferPointer<UInt8>) throws -> Void
    ) throws -> (consumed: Int, code: Int32) {
        let input = UnsafeBufferPointer(rebasing: input)
        var total = 0
        while true {
            var consumed = 0, produced = 0
            let code = output.withUnsafeMutableBufferPointer { output in
                ness_inflate(
                    stream, input.baseAddress.map { $0 + total }, input.count - total, output.baseAddress, output.count, &consumed,
                    &produced)
            }
            total += consumed
            if produced > 0 { try output.withUnsafeBufferPointer { try take(UnsafeBufferPointer(rebasing: $0[..<produced])) } }
            // -5: zlib needs more input before it can make more output.
            if code == -5 && total == input.count { return (total, 0) }
            if code != 0 || (total == input.count && produced < output.count) { return (total, code) }
        }
    }

    /// Checks that the body is complete.
    /// - Throws: `TransportError` of the kind `truncated`.
    func finish() throws {
        guard isWhole || isEmpty else { throw TransportError(.truncated, "the compressed body ends early") }
    }
}
#endif
