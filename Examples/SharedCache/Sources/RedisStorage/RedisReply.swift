import NIOCore

/// A reply of Redis (RESP 2).
enum RedisReply: Sendable {
    case bytes(ByteBuffer)
    case text(String)
    case number(Int)
    case list([RedisReply])
    case nothing
    /// The server did not run the command.
    case error(String)
}

/// Reads replies from the bytes of a connection.
struct RedisReplyDecoder: NIOSingleStepByteToMessageDecoder {
    struct Malformed: Error {}

    /// The limits of Redis itself.
    private static let longestBytes = 512 << 20
    private static let longestLine = 64 << 10
    private static let longestList = 1 << 20
    private static let deepestList = 4

    mutating func decode(buffer: inout ByteBuffer) throws -> RedisReply? {
        // A reply that is incomplete is read again when more bytes have arrived.
        var rest = buffer
        guard let reply = try Self.reply(&rest, depth: 0) else { return nil }
        buffer = rest
        return reply
    }

    mutating func decodeLast(buffer: inout ByteBuffer, seenEOF: Bool) throws -> RedisReply? { try decode(buffer: &buffer) }

    private static func reply(_ buffer: inout ByteBuffer, depth: Int) throws -> RedisReply? {
        guard let line = try line(&buffer) else { return nil }
        let rest = String(decoding: line.dropFirst(), as: UTF8.self)
        switch line.first {
        case UInt8(ascii: "+"): return .text(rest)
        case UInt8(ascii: "-"): return .error(rest)
        case UInt8(ascii: ":"): return .number(try number(rest, in: Int.min...Int.max))
        case UInt8(ascii: "$"):
            let count = try number(rest, in: -1...longestBytes)
            if count < 0 { return .nothing }
            guard buffer.readableBytes >= count + 2, let bytes = buffer.readSlice(length: count) else { return nil }
            guard buffer.readBytes(length: 2) == [13, 10] else { throw Malformed() }
            return .bytes(bytes)
        case UInt8(ascii: "*"):
            let count = try number(rest, in: -1...longestList)
            if count < 0 { return .nothing }
            guard depth < deepestList else { throw Malformed() }
            var list: [RedisReply] = []
            for _ in 0..<count {
                guard let reply = try reply(&buffer, depth: depth + 1) else { return nil }
                list.append(reply)
            }
            return .list(list)
        default: throw Malformed()
        }
    }

    private static func line(_ buffer: inout ByteBuffer) throws -> [UInt8]? {
        guard let length = buffer.readableBytesView.firstIndex(of: 13).map({ $0 - buffer.readerIndex }) else {
            if buffer.readableBytes > longestLine { throw Malformed() }
            return nil
        }
        guard buffer.readableBytes >= length + 2 else { return nil }
        guard let line = buffer.readBytes(length: length), buffer.readBytes(length: 2) == [13, 10] else { throw Malformed() }
        return line
    }

    private static func number(_ text: String, in range: ClosedRange<Int>) throws -> Int {
        guard let number = Int(text), range.contains(number) else { throw Malformed() }
        return number
    }
}
