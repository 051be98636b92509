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
            #expect(field.joined().allSatisfy { $0.isHexDigit })
            #expect(field.first == "00" && field.last == "01")
        }
        #expect(Set(fields.map { $0[1] }).count == 1)
        #expect(Set(fields.map { $0[2] }).count == 4)

        #expect(program.errors.contains("warning retries GET \(server.url)/flaky after "))
        #expect(program.errors.contains("info GET \(server.url)/flaky request="))
        #expect(program.errors.contains("attempts=2"))
        #expect(program.errors.contains("trace=\(fields[0][1])"))
        #expect(!program.errors.contains("abcdef"))

        let lines = program.output.split(separator: "\n")
        #expect(lines.contains(#"http_client_requests_total{method="GET",status="200"} 2.0"#))
        #expect(lines.contains(#"http_client_retries_total{method="GET"} 1.0"#))
        #expect(lines.contains(#"http_client_request_duration_seconds_count{method="GET",status="200"} 2.0"#))
    }

    @Test("a failure is counted by its kind, and exits with code 1")
    func failure() async throws {
        let server = try await TestServer.start { _ in .status(404) }
        let (code, program) = try await run("logging", ["\(server.url)/none"])
        #expect(code == 1)
        #expect(program.errors.contains("error GET \(server.url)/none"))
        #expect(program.output.contains(#"http_client_requests_total{method="GET",error="validation"} 1.0"#))
    }
}
