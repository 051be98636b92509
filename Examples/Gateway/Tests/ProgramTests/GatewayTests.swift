import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite(.serialized, .timeLimit(.minutes(2))) struct GatewayTests {
    /// A client without retries.
    private let ness = Ness(.server) { $0.retryControl = nil }

    /// Starts the program before a server.
    private func start(_ options: [String], before server: TestServer) async throws -> (program: Program, url: String) {
        let program = try Program("gateway", ["--port", "0"] + options + [server.url.absoluteString])
        await program.wait(for: " → ")
        if options.contains("--metrics-port") { await program.wait(for: "/metrics") }
        let line = try #require(program.output.split(separator: "\n").first { $0.contains(" → ") })
        return (program, String(line.prefix { $0 != " " }))
    }

    @Test("--help prints the usage, and wrong arguments exit with code 2")
    func arguments() async throws {
        let (code, help) = try await run("gateway", ["--help"])
        #expect(code == 0 && help.output.hasPrefix("usage: gateway"))
        for arguments in [[], ["--port", "x", "http://h"], ["--metrics-port"], ["--wrong"], ["ftp://h"], ["http://h/?q"]] {
            let (code, program) = try await run("gateway", arguments)
            #expect(code == 2 && program.errors.hasPrefix("gateway: "), "\(arguments)")
        }
    }

    @Test("serves until Ctrl-C, and logs each request with its identifier and its trace")
    func serves() async throws {
        let server = try await TestServer.start { .text($0.path) }
        let (program, url) = try await start(["--trace"], before: server)
        let trace = "0af7651916cd43dd8448eb211c80319c"
        let text = try await ness.get("\(url)/a").set(header: "X-Request-Id", to: "r-1")
            .set(header: "traceparent", to: "00-\(trace)-b7ad6b7169203331-01").text()
        #expect(text == "/a")
        program.interrupt()
        #expect(await program.end() == 0)
        let lines = program.errors.split(separator: "\n")
        #expect(lines.contains { $0.contains("succeeded") && $0.contains("request.id=r-1") && $0.contains("trace=\(trace)") })
        // The span of the client's request, that of the upstream's request, and that of the exchange.
        #expect(lines.filter { $0.contains(" trace: ") && $0.contains("trace=\(trace)") }.count == 3)
        let parent = try #require(server.requests.first?.headers["traceparent"])
        #expect(parent.hasPrefix("00-\(trace)-") && parent.hasSuffix("-01") && !parent.contains("b7ad6b7169203331"))
        await ness.shutdown(within: .zero)
    }

    @Test("the metrics are a page at another port")
    func metrics() async throws {
        let server = try await TestServer.start { .text($0.path) }
        let (program, url) = try await start(["--metrics-port", "0"], before: server)
        // The path of the page belongs to the upstream.
        let text = try await ness.get("\(url)/metrics").text()
        #expect(text == "/metrics")
        let line = try #require(program.output.split(separator: "\n").first { $0.hasPrefix("metrics at ") })
        // The exchange ends after the client has its response.
        var page = ""
        while !page.contains("http_client_request_duration_seconds_count") {
            page = try await ness.get(String(line.dropFirst("metrics at ".count))).text()
        }
        #expect(page.contains("# TYPE http_client_request_duration_seconds summary\n"))
        await ness.shutdown(within: .zero)
    }

    @Test("SIGTERM lets a running request end")
    func terminates() async throws {
        let arrived = TestGate(), go = TestGate()
        let steps: [ConnectionStep] = [
            .receiveHead, .signal(arrived), .wait(go), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        ]
        let server = try await TestServer.start(script: { _ in steps })
        let (program, url) = try await start([], before: server)
        let request = ness.get(url).dataRequest()
        await arrived.wait()
        program.terminate()
        // The shutdown has started once the program accepts no connection.
        let other = Ness(.server) { $0.retryControl = nil }
        while true {
            let result = await other.get(url).set(deadline: .milliseconds(500)).dataRequest().settled
            if case .failure(NessError.Kind.cannotConnect) = result { break }
        }
        go.open()
        #expect(try await request.value.message.text == "ok")
        #expect(await program.end() == 0)
        await other.shutdown(within: .zero)
        await ness.shutdown(within: .zero)
    }
}
