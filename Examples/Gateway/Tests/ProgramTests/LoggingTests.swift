import Foundation
import NessTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct LoggingTests {
    @Test("each exchange has its own span in one trace; logs and metrics record retries without secrets")
    func telemetry() async throws {
        let count = Mutex(0)
        let server = try await TestServer.start { request in
            switch request.path {
            case "/old": return .status(302, headers: ["Location": "/new"])
            case "/flaky":
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                return number == 1 ? .status(503, headers: ["Retry-After": "0"]) : .text("fine")
            default: return .text("fine")
            }
        }
        let (code, program) = try await run("logging", ["\(server.url)/old?token=abcdef", "\(server.url)/flaky"])
        #expect(code == 0, "\(program.errors)")

        let parents = server.requests.compactMap { $0.headers["traceparent"] }
        #expect(parents.count == 4)
        let fields = parents.map { $0.split(separator: "-") }
        for field in fields {
            #expect(field.map(\.count) == [2, 32, 16, 2])
            #expect(field.first == "00" && field.last == "01")
        }
        #expect(Set(fields.map { $0[1] }).count == 1)
        #expect(Set(fields.map { $0[2] }).count == 4)

        let logs = program.errors.split(separator: "\n")
        let trace = "trace=\(fields[0][1])"
        #expect(logs.contains { $0.contains("retries") && $0.contains("error.type=503") && $0.contains("/flaky") && $0.contains(trace) })
        #expect(logs.contains { $0.contains("succeeded") && $0.contains("attempts=2") && $0.contains(trace) })
        // The span of the program, those of two requests, and those of four exchanges.
        #expect(logs.filter { $0.contains(" trace: ") && $0.contains(trace) }.count == 7)
        #expect(!program.errors.contains("abcdef"))

        let series = { (name: String) in "\(name){http_request_method=\"GET\",server_address=\"127.0.0.1\",server_port=\"\(server.port)\"" }
        let lines = program.output.split(separator: "\n")
        #expect(lines.contains { $0 == "\(series("ness_request_duration_seconds_count")),http_response_status_code=\"200\"} 2" })
        #expect(lines.contains { $0 == "\(series("ness_retries_total")),error_type=\"503\"} 1.0" })
        #expect(lines.contains { $0 == "\(series("http_client_active_requests"))} 0.0" })
        #expect(!program.output.contains("abcdef"))
    }

    @Test("a failure is counted by its type, and exits with code 1")
    func failure() async throws {
        let server = try await TestServer.start { _ in .status(404) }
        let (code, program) = try await run("logging", ["\(server.url)/none"])
        #expect(code == 1)
        #expect(program.errors.contains("failed") && program.errors.contains("error.type=404"))
        #expect(program.output.contains("error_type=\"404\""))
    }

    @Test("--help prints the usage, and wrong arguments exit with code 2")
    func arguments() async throws {
        let (code, help) = try await run("logging", ["--help"])
        #expect(code == 0 && help.output.hasPrefix("usage: logging ") && help.errors.isEmpty)
        for (arguments, error) in [(["--wrong"], "--wrong is not an option"), ([], "there is no URL")] {
            let (code, program) = try await run("logging", arguments)
            #expect(code == 2 && program.errors.hasPrefix("logging: \(error)\n") && program.output.isEmpty)
        }
    }
}
