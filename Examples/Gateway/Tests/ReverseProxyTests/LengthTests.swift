import NessTesting
import Testing

@Suite("Content-Length", .serialized, .timeLimit(.minutes(2))) struct LengthTests {
    /// Returns what the client receives if the upstream's response has some fields about its length, and a body.
    private func answer(to method: String = "GET", _ status: String = "200 OK", fields: [String], body: String = "ok") async throws
        -> String
    {
        let head = "HTTP/1.1 \(status)\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n"
        let answer = TestValue("")
        try await withUpstream({ _ in }, { _ in .script([.send(head + body), .close]) }) { port, _ in
            answer.set(try await exchange(port, "\(method) / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"))
        }
        return answer.value
    }

    private func lengths(in answer: String) -> [Substring] {
        answer.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("content-length:") }
    }

    @Test(
        "equal lengths reach the client as one",
        arguments: [
            ["Content-Length: 2", "Content-Length: 2"], ["Content-Length: 2, 2"], ["content-length: 2", "Content-Length: 2 , 2"],
        ],
        ["GET", "HEAD"])
    func equal(fields: [String], method: String) async throws {
        let answer = try await answer(to: method, fields: fields, body: method == "HEAD" ? "" : "ok")
        #expect(answer.hasPrefix("HTTP/1.1 200") && lengths(in: answer) == ["Content-Length: 2"])
        #expect(answer.hasSuffix(method == "HEAD" ? "\r\n\r\n" : "\r\n\r\nok"))
    }

    @Test(
        "lengths that contradict each other, or cannot be read, give a 502 and no body",
        arguments: [
            ["Content-Length: 2", "Content-Length: 3"], ["Content-Length: 3", "Content-Length: 2"], ["Content-Length: 2, 3"],
            ["Content-Length: x"], ["Content-Length: -2"], ["Content-Length: +2"], ["Content-Length: 2,"], ["Content-Length: 2x"],
            ["Content-Length: 99999999999999999999"], ["Content-Length: 2", "Content-Length: x"],
        ], ["GET", "HEAD"])
    func contradicting(fields: [String], method: String) async throws {
        let answer = try await answer(to: method, fields: fields, body: method == "HEAD" ? "" : "ok")
        #expect(answer.hasPrefix("HTTP/1.1 502") && lengths(in: answer) == ["Content-Length: 0"] && answer.hasSuffix("\r\n\r\n"))
    }

    @Test("a length beside a transfer coding does not reach the client (RFC 9112, 6.3)")
    func chunked() async throws {
        let answer = try await answer(
            fields: ["Transfer-Encoding: chunked", "Content-Length: 9"], body: "2\r\nok\r\n0\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 502") || (lengths(in: answer).isEmpty && answer.hasSuffix("2\r\nok\r\n0\r\n\r\n")))
    }

    @Test("a 204 has no length")
    func noContent() async throws {
        let answer = try await answer("204 No Content", fields: ["Content-Length: 2"], body: "")
        #expect(answer.hasPrefix("HTTP/1.1 204") && lengths(in: answer).isEmpty)
    }

    @Test(
        "a request with several lengths, or with a length beside a transfer coding, gets a 400",
        arguments: [
            "Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2\r\nContent-Length: 2", "Content-Length: 2, 2",
            "Content-Length: 2\r\nTransfer-Encoding: chunked", "Content-Length: x", "Content-Length: -2",
        ])
    func request(fields: String) async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            let answer = try await exchange(port, "POST / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n\r\nok")
            #expect(answer.hasPrefix("HTTP/1.1 400"))
            #expect(server.requestCount == 0)
        }
    }
}
