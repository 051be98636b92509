import Foundation

/// MD5 (RFC 1321) and SHA-256 (FIPS 180-4) once more, slow and short: the library's own are checked against these, which take their
/// constants from the formulas that define them.
enum TestHash {
    static func md5(_ data: Data) -> Data {
        let shifts: [[UInt32]] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476]
        for block in blocks(data, isBigEndian: false) {
            var (a, b, c, d) = (state[0], state[1], state[2], state[3])
            for step in 0..<64 {
                let (mixed, index): (UInt32, Int)
                switch step / 16 {
                case 0: (mixed, index) = ((b & c) | (~b & d), step)
                case 1: (mixed, index) = ((d & b) | (~d & c), 5 * step + 1)
                case 2: (mixed, index) = (b ^ c ^ d, 3 * step + 5)
                default: (mixed, index) = (c ^ (b | ~d), 7 * step)
                }
                let sine = UInt32(abs(sin(Double(step + 1))) * 4_294_967_296)
                let sum = a &+ mixed &+ sine &+ block[index % 16]
                let rotated = rotateLeft(sum, shifts[step / 16][step % 4])
                (a, d, c, b) = (d, c, b, b &+ rotated)
            }
            for (index, word) in [a, b, c, d].enumerated() { state[index] &+= word }
        }
        return bytes(state.map(\.littleEndian))
    }

    static func sha256(_ data: Data) -> Data {
        let primes = (2...311).filter { number in !(2..<number).contains { number % $0 == 0 } }
        let constants = primes.map { fraction(cbrt(Double($0))) }
        var state = primes.prefix(8).map { fraction(Double($0).squareRoot()) }
        for block in blocks(data, isBigEndian: true) {
            var words = block
            for index in 16..<64 {
                let (early, late) = (words[index - 15], words[index - 2])
                let first = rotateLeft(early, 25) ^ rotateLeft(early, 14) ^ (early >> 3)
                let second = rotateLeft(late, 15) ^ rotateLeft(late, 13) ^ (late >> 10)
                words.append(words[index - 16] &+ first &+ words[index - 7] &+ second)
            }
            var now = state
            for index in 0..<64 {
                let (a, e) = (now[0], now[4])
                let choice = (e & now[5]) ^ (~e & now[6])
                let majority = (a & now[1]) ^ (a & now[2]) ^ (now[1] & now[2])
                let high = rotateLeft(e, 26) ^ rotateLeft(e, 21) ^ rotateLeft(e, 7)
                let low = rotateLeft(a, 30) ^ rotateLeft(a, 19) ^ rotateLeft(a, 10)
                let first = now[7] &+ high &+ choice &+ constants[index] &+ words[index]
                let second = low &+ majority
                now = [first &+ second] + now.prefix(7)
                now[4] = now[4] &+ first
            }
            for index in 0..<8 { state[index] &+= now[index] }
        }
        return bytes(state.map(\.bigEndian))
    }

    static func hexadecimal(_ data: Data) -> String { data.map { String(format: "%02x", $0) }.joined() }

    private static func bytes(_ words: [UInt32]) -> Data { words.withUnsafeBytes { Data($0) } }

    private static func rotateLeft(_ word: UInt32, _ count: UInt32) -> UInt32 { (word << count) | (word >> (32 - count)) }

    private static func fraction(_ value: Double) -> UInt32 { UInt32((value - value.rounded(.down)) * 4_294_967_296) }

    /// The padded data in blocks of sixteen words.
    private static func blocks(_ data: Data, isBigEndian: Bool) -> [[UInt32]] {
        var bytes: [UInt8] = Array(data) + [0x80]
        while bytes.count % 64 != 56 { bytes.append(0) }
        let bits = UInt64(data.count) * 8
        withUnsafeBytes(of: isBigEndian ? bits.bigEndian : bits.littleEndian) { bytes += Array($0) }
        var words: [UInt32] = []
        for start in stride(from: 0, to: bytes.count, by: 4) {
            var word: UInt32 = 0
            for byte in bytes[start..<start + 4] { word = word << 8 | UInt32(byte) }
            words.append(isBigEndian ? word : word.byteSwapped)
        }
        return stride(from: 0, to: words.count, by: 16).map { Array(words[$0..<$0 + 16]) }
    }
}
