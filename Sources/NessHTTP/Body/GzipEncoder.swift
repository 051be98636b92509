import Foundation

/// Compresses bytes as gzip (RFC 1952).
///
/// Used by one thread at a time.
final class GzipEncoder {
    private let deflater: Deflater
    private var checksum = UInt32.max
    private var count: UInt32 = 0
    /// The start of the output: the format's mark, DEFLATE (8), no flags, no time, no level, and an unspecified system (255).
    private var head = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF])

    /// Makes an encoder.
    /// - Parameter deflater: The platform's compressor; `nil` if the platform has none.
    /// - Throws: `InvalidRequest` without a compressor.
    init(_ deflater: Deflater? = Deflater()) throws {
        guard let deflater else { throw InvalidRequest("gzip needs zlib, which this process cannot find") }
        self.deflater = deflater
    }

    /// Compresses bytes in one call.
    static func encode(_ data: Data) throws -> Data {
        try GzipEncoder().encode(data, ends: true)
    }

    /// Compresses the next bytes.
    /// - Parameters:
    ///   - input: The bytes. They may be empty.
    ///   - ends: True for the last bytes. No call may follow.
    /// - Returns: The compressed bytes that are complete. They may be empty unless `ends` is true.
    func encode(_ input: Data, ends: Bool) throws -> Data {
        var output = head
        head = Data()
        input.withUnsafeBytes { bytes in
            var checksum = checksum
            for byte in bytes { checksum = Self.table[Int(truncatingIfNeeded: (checksum ^ UInt32(byte)) & 0xFF)] ^ (checksum >> 8) }
            self.checksum = checksum
        }
        // The format has the length modulo 2^32.
        count &+= UInt32(truncatingIfNeeded: input.count)
        output += try deflater.deflate(input, ends: ends)
        if ends {
            for number in [~checksum, count] {
                output += (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * UInt32($0))) }
            }
        }
        return output
    }

    /// The remainders of all bytes for the checksum CRC-32 (RFC 1952, section 8).
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { rest, _ in rest & 1 == 1 ? 0xEDB8_8320 ^ (rest >> 1) : rest >> 1 }
    }
}
