import NessTesting
import Testing

@Suite("Host", .serialized, .timeLimit(.minutes(2))) struct HostTests {
    @Test(
        "a request whose Host is absent, repeated or not a host with a port gets a 400, and the upstream does not see it",
        arguments: [
            "", "Host: h\r\nHost: h\r\n", "Host: h\r\nhost: i\r\n", "Host:\r\n", "Host: \r\n", "Host: u@h\r\n", "Host: u:p@h\r\n",
            "Host: h/\r\n", "Host: h/a\r\n", "Host: a b\r\n", "Host: a, b\r\n", "Host: h?q\r\n", "Host: h#f\r\n", "Host: http://h\r\n",
            "Host: h:x\r\n", "Host: h:-1\r\n", "Host: h:1:2\r\n", "Host: h:65536\r\n", "Host: :80\r\n", "Host: [::1\r\n", "Host: ::1\r\n",
            "Host: [::1]x\r\n", "Host: [::g]\r\n", "Host: [1.2.3.4]\r\n", "Host: [fe80::1%25eth0]\r\n", "Host: h%\r\n", "Host: h%4\r\n",
            "Host: h%4g\r\n", "Host: h\\i\r\n", "Host: <h>\r\n", "Host: h\t\r\n i\r\n", "Host: h\u{e9}\r\n",
        ])
    func invalid(fields: String) async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            let answer = try await exchange(port, "GET / HTTP/1.1\r\n\(fields)Connection: close\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 400"))
            #expect(server.connectionCount == 0)
        }
    }

    @Test(
        "a host with or without a port is accepted",
        arguments: [
            "h", "h:", "h:80", "h:65535", "gateway.example", "192.0.2.1:80", "[::1]", "[2001:db8::1]:443", "[::ffff:192.0.2.1]", "a_b",
            "a%20b",
            "xn--caf-dma.example.", "h;a=1,b", " h ",
        ])
    func valid(host: String) async throws {
        try await withUpstream({ _ in }, { _ in .text("ok") }) { port, server in
            let answer = try await exchange(port, "GET / HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 200"))
        }
    }
}
