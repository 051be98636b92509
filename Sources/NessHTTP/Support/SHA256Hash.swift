import Foundation

/// SHA-256 (FIPS 180-4), for file names that reveal nothing, for Digest authentication and for checksums.
///
/// Linux has no hash function outside of packages. On Apple platforms CryptoKit has one, whose type is called `SHA256`. Ness uses one
/// implementation on all platforms, so that only one has to be tested.
package struct SHA256Hash {
    private var state: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    /// The bytes that do not fill a block yet.
    private var rest = ContiguousArray<UInt8>()
    private var count: UInt64 = 0

    package init() {}

    /// Computes the digest of some bytes: 32 bytes.
    package static func digest(of bytes: some Collection<UInt8>) -> Data {
        var hash = SHA256Hash()
        hash.add(bytes)
        return hash.finish()
    }

    /// Adds bytes to the message.
    package mutating func add(_ bytes: some Collection<UInt8>) {
        count += UInt64(bytes.count)
        // One contiguous buffer, because its blocks are read faster.
        var message = rest
        message.append(contentsOf: bytes)
        let end = message.count / 64 * 64
        message.withUnsafeBytes { message in
            for start in stride(from: 0, to: end, by: 64) { add(block: UnsafeRawBufferPointer(rebasing: message[start..<start + 64])) }
        }
        rest = ContiguousArray(message[end...])
    }

    /// Ends the message.
    /// - Returns: The digest: 32 bytes.
    package mutating func finish() -> Data {
        let bitCount = count &* 8
        // The padded message has a length of 56 modulo 64, before the eight bytes of its length.
        var padding = ContiguousArray<UInt8>(repeating: 0, count: (119 - rest.count) % 64 + 1)
        padding[0] = 0x80
        padding.reserveCapacity(padding.count + 8)
        for shift in stride(from: 56, through: 0, by: -8) { padding.append(UInt8(truncatingIfNeeded: bitCount >> UInt64(shift))) }
        add(padding)
        return state.map(\.bigEndian).withUnsafeBytes { Data($0) }
    }

    /// Computes the digest of several strings, in hexadecimal digits. The boundaries between the strings affect the digest.
    static func hex(of texts: [String]) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(texts.reduce(0) { $0 + $1.utf8.count + 8 })
        for text in texts {
            bytes += "\(text.utf8.count):".utf8
            bytes += text.utf8
        }
        return digest(of: bytes).hexadecimal
    }

    private mutating func add(block: UnsafeRawBufferPointer) {
        // Written out: an array of the words would be allocated for each block, and calls and checks make a debug build ten times as slow.
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { words in
            Self.constants.withUnsafeBufferPointer { constants in
                var index = 0
                while index < 64 {
                    if index < 16 {
                        words[index] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: 4 &* index, as: UInt32.self))
                    } else {
                        let early = words[index &- 15], late = words[index &- 2]
                        let first = (early &>> 7 | early &<< 25) ^ (early &>> 18 | early &<< 14) ^ (early &>> 3)
                        let second = (late &>> 17 | late &<< 15) ^ (late &>> 19 | late &<< 13) ^ (late &>> 10)
                        words[index] = words[index &- 16] &+ first &+ words[index &- 7] &+ second
                    }
                    let second = (e &>> 6 | e &<< 26) ^ (e &>> 11 | e &<< 21) ^ (e &>> 25 | e &<< 7)
                    let one = h &+ second &+ ((e & f) ^ (~e & g)) &+ constants[index] &+ words[index]
                    let first = (a &>> 2 | a &<< 30) ^ (a &>> 13 | a &<< 19) ^ (a &>> 22 | a &<< 10)
                    let two = first &+ ((a & b) ^ (a & c) ^ (b & c))
                    (h, g, f, e) = (g, f, e, d &+ one)
                    (d, c, b, a) = (c, b, a, one &+ two)
                    index &+= 1
                }
            }
        }
        (state[0], state[1], state[2], state[3]) = (state[0] &+ a, state[1] &+ b, state[2] &+ c, state[3] &+ d)
        (state[4], state[5], state[6], state[7]) = (state[4] &+ e, state[5] &+ f, state[6] &+ g, state[7] &+ h)
    }

    /// The first 32 bits of the fractions of the cube roots of the first 64 primes.
    private static let constants = (2...311).filter { number in (2..<number).allSatisfy { number % $0 != 0 } }
        .map { UInt32(cbrt(Double($0)).truncatingRemainder(dividingBy: 1) * 0x1p32) }
}

extension Sequence<UInt8> {
    /// The bytes as hexadecimal digits, two for each byte, in lower case.
    package var hexadecimal: String {
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value }
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * underestimatedCount)
        for byte in self {
            digits.append(digit(byte >> 4))
            digits.append(digit(byte & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }
}
