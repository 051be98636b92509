#if os(Linux)
import Foundation
import NessTesting
import Testing

/// What a server can do to a process that uses URLSession on Linux: end it. README, "Limits", says so.
///
/// These tests do not ask for that; they notice when it is over. Where one fails because the child lives, the toolchain has been mended:
/// then take `onlyOutOfProcess` off the misbehaviour, so that `HostileTests` has it, and the sentence out of the README.
@Suite(.inTurn) struct ProcessLimitTests {
    static let limits = Misbehaviour.all.filter(\.onlyOutOfProcess)
    /// Over these the client reads on for ever, instead of ending.
    static let withoutEnd: Set<String> = ["chunked-endless-trailers"]

    @Test("the limits are those that are documented")
    func list() {
        #expect(
            Self.limits.map(\.name).sorted() == [
                "chunked-endless-trailers", "chunked-trailers", "close-in-head", "half-close-in-head", "length-of-int64-max",
            ])
    }

    @Test("URLSession ends the process", arguments: limits.filter { !withoutEnd.contains($0.name) })
    func ends(_ misbehaviour: Misbehaviour) async throws {
        let server = try await TestServer.start(misbehaviour)
        let child = try Child([server.url.absoluteString])
        let end = await child.end()
        #expect(end.reason == .uncaughtSignal, "it ended with \(end.status): the limit is gone")
        #expect(server.requestCount == 1)
        await server.stop()
    }

    @Test("URLSession ends the process over many trailers, too")
    func manyTrailers() async throws {
        // The misbehaviour has no end, and the client would take it all, ever more slowly; so this is its beginning, and an end.
        let fields = Data(String(repeating: "X-Endless: 0123456789\r\n", count: 5_000).utf8)
        let server = try await TestServer.start(script: { _ in
            [
                .receiveRequest, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"),
                .sendData(fields), .send("\r\n"), .stall,
            ]
        })
        let end = await (try Child([server.url.absoluteString])).end()
        #expect(end.reason == .uncaughtSignal, "it ended with \(end.status): the limit is gone")
        await server.stop()
    }

    @Test("the child itself is sound")
    func sound() async throws {
        let server = try await TestServer.start { _ in .text("fine") }
        let end = await (try Child([server.url.absoluteString])).end()
        #expect(end.reason == .exit && end.status == 0)
        #expect(server.requestCount == 1)
        await server.stop()
    }
}
#endif
