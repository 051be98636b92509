import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The longest header of a response, and the time that a header may take.
@Suite(.inTurn) struct HeaderLimitTests {
    @Test(
        "a header of 100,000 bytes is accepted, one of a byte more is not",
        .toBeDecidedOnAMac("the longest header that URLSession accepts"), arguments: [1, 10], [0, 1])
    func limit(fieldCount: Int, excess: Int) async throws {
        let length = "Content-Length: 2\r\n"
        let lines = (0..<fieldCount).map { number in
            let last = number == fieldCount - 1
            let size = last ? 100_000 - length.utf8.count - (fieldCount - 1) * 9_000 + excess : 9_000
            return "X-\(number): \(String(repeating: "x", count: size - 7))\r\n"
        }
        let steps: [ConnectionStep] = [.receiveRequest, .send("HTTP/1.1 200 OK\r\n\(length)\(lines.joined())\r\nhi"), .close]
        try await serving(script: { _ in steps }) { server in
            let promise = Ness().httpRequest(withUrl: server.url).dataRequest()
            if excess == 0 {
                let text = try await promise.value.message.text
                #expect(text == "hi")
            } else {
                #expect(await promise.nessError()?.kind == .malformedResponse)
            }
        }
    }

    @Test(
        "a status line, a header line or a trailer without an end is malformed because it is too long",
        .toBeDecidedOnAMac("the longest header that URLSession accepts"),
        arguments: [
            "HTTP/1.1 200 ", "HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 100 Continue\r\nX: ", "",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
        ])
    func endless(start: String) async throws {
        try await serving(script: { _ in [.receiveRequest, .send(start), .sendUntilClosed(Data(repeating: 97, count: 16_384))] }) {
            server in
            let error = await Ness().httpRequest(.post, withUrl: server.at("/")).dataRequest().nessError()
            #expect(error?.kind == .malformedResponse, "\(String(describing: error))")
            #expect(error?.description.contains("Out of memory") == false, "\(String(describing: error))")
            if Engine.isCurl, !start.isEmpty {
                #expect(error?.description.contains("longer than 100000 bytes") == true, "\(String(describing: error))")
            }
        }
    }

    #if os(Linux)
    @Test("a header that arrives line by line counts as activity, although its end is missing", .enabled(if: Engine.isCurl))
    func slowHeader() async throws {
        let gate = TestGate()
        try await serving(script: { _ in
            [.receiveRequest, .send("HTTP/1.1 200 OK\r\nA: 1\r\n"), .wait(gate), .send("B: 2\r\n\r\n"), .close]
        }) { server in
            let control = FakeControl(), transport = try CurlTransport()
            async let end: Void = transport.send(HTTPRequest(url: server.url), under: control) { _ in }
            await control.moves.wait(for: 1)
            gate.open()
            try await end
            await transport.shutdown()
        }
    }
    #endif
}
