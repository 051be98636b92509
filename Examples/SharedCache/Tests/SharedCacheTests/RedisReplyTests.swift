import NIOCore
import Testing

@testable import RedisStorage

/// Replies as bytes of a connection.
@Suite struct RedisReplyTests {
    private func decode(_ text: String) throws -> (reply: RedisReply?, rest: String) {
        var decoder = RedisReplyDecoder(), buffer = ByteBuffer(string: text)
        let reply = try decoder.decode(buffer: &buffer)
        return (reply, String(buffer: buffer))
    }

    @Test(
        "each kind of reply is read, and not before it is complete",
        arguments: [
            ("+OK\r\n", "text(\"OK\")"), ("-ERR no\r\n", "error(\"ERR no\")"), (":-7\r\n", "number(-7)"), ("$-1\r\n", "nothing"),
            ("*-1\r\n", "nothing"), ("*0\r\n", "list([])"), ("*2\r\n:1\r\n*1\r\n+a\r\n", "list"), ("$4\r\na\r\nb\r\n", "bytes"),
        ])
    func kinds(text: String, description: String) throws {
        let whole = try decode(text + ":1\r\n")
        #expect(whole.rest == ":1\r\n")
        #expect("\(try #require(whole.reply))".contains(description))
        let bytes = Array(text.utf8)
        for count in bytes.indices {
            let part = String(decoding: bytes[..<count], as: UTF8.self), (reply, rest) = try decode(part)
            #expect(reply == nil && rest == part)
        }
    }

    @Test(
        "bytes that are not a reply are an error",
        arguments: [
            "x\r\n", "\r\n", "$x\r\n", "$-2\r\n", "$99999999999\r\n", "*99999999\r\n", ":1\rx", "$1\r\nabc",
            "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
            String(repeating: "+", count: 70_000),
        ])
    func malformed(text: String) {
        #expect(throws: RedisReplyDecoder.Malformed.self) { try decode(text) }
    }
}
