import Foundation

/// MD5 (RFC 1321), for Digest authentication and the checksums of uploads, because many servers support nothing better. It is not secure.
package enum MD5Hash {
    /// Computes the digest of some bytes: 16 bytes.
    package static func digest(of bytes: some Collection<UInt8>) -> [UInt8] {
        var message = Array(bytes)
        let bitCount = UInt64(message.count) * 8
        message.append(0x80)
        while message.count % 64 != 56 { message.append(0) }
        for shift in stride(from: 0, to: 64, by: 8) { message.append(UInt8(truncatingIfNeeded: bitCount >> UInt64(shift))) }
        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]
        for start in stride(from: 0, to: message.count, by: 64) { add(message[start..<start + 64], to: &state) }
        return state.flatMap { word in stride(from: 0, to: 32, by: 8).map { UInt8(truncatingIfNeeded: word >> UInt32($0)) } }
    }

    private static func add(_ block: ArraySlice<UInt8>, to state: inout [UInt32]) {
        let words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { start in
            (0..<4).reduce(UInt32(0)) { $0 | UInt32(block[start + $1]) << UInt32($1 * 8) }
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        for step in 0..<64 {
            let (mixed, word) =
                switch step / 16 {
                case 0: ((b & c) | (~b & d), step)
                case 1: ((d & b) | (~d & c), 5 * step + 1)
                case 2: (b ^ c ^ d, 3 * step + 5)
                default: (c ^ (b | ~d), 7 * step)
                }
            let sum = a &+ mixed &+ constants[step] &+ words[word % 16]
            let count = shifts[step / 16][step % 4]
            (a, d, c, b) = (d, c, b, b &+ (sum << count | sum >> (32 - count)))
        }
        for (index, word) in [a, b, c, d].enumerated() { state[index] = state[index] &+ word }
    }

    private static let shifts: [[UInt32]] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]

    /// The whole parts of 2^32 times the sines of 1 to 64.
    private static let constants = (1...64).map { UInt32(abs(sin(Double($0))) * 0x1p32) }
}
