#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// A process ends as it should, with requests over TLS in flight. Each end is that of a child, which runs the second test of this suite.
@Suite(.inTurn) struct ProcessEndTests {
    private static let variable = "NESS_TEST_EXIT"
    /// The URL, the file with the authority, and the number of requests. `nil` in the process of the test run itself.
    private static let order = ProcessInfo.processInfo.environment[variable]?.split(separator: " ").map(String.init)

    @Test("a process that exits with requests over TLS in flight ends normally", .enabled(if: order == nil), arguments: [1, 50])
    func exits(count: Int) async throws {
        let authority = try TestAuthority()
        let server = try await TestServer.start(certificate: authority.certificate(), recordsRequests: false) { .text($0.path) }
        try await stopping(server) { server in
            try await withFolder { folder in
                let file = folder.appending(path: "ca.pem")
                try authority.pem.write(to: file, atomically: true, encoding: .utf8)
                let rounds = ProcessInfo.processInfo.environment["NESS_TEST_EXIT_ROUNDS"].flatMap { Int($0) } ?? 2
                for _ in 0..<rounds {
                    let arguments = ["--testing-library", "swift-testing", "--filter", "ProcessEndTests/child"]
                    let child = try Child(
                        arguments, executable: URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath(),
                        environment: ProcessInfo.processInfo.environment.merging([
                            Self.variable: "\(server.url.absoluteString) \(file.path) \(count)"
                        ]) { $1 })
                    let end = await child.end()
                    #expect(end.reason == .exit && end.status == 7, "\(end): \(child.lines.entries.suffix(9).joined(separator: "\n"))")
                }
            }
        }
    }

    @Test("the child exits as soon as each of its requests has had a response, and sends on", .enabled(if: order != nil))
    func child() async throws {
        let order = try #require(Self.order), count = try #require(Int(order[2]))
        let authorities = try String(contentsOfFile: order[1], encoding: .utf8)
        let ness = try curlNess {
            $0.authorities = authorities
        } configure: {
            $0.maximumConnectionsPerHost = count
        }
        let answered = Log<Int>()
        for worker in 0..<count {
            Task {
                while true {
                    _ = try await ness.get("\(order[0])/\(worker)").text()
                    answered.add(worker)
                }
            }
        }
        await answered.wait { $0.count >= 2 * count }
        exit(7)
    }

    @Test("a thread that waits for a response does not delay the exit of the process", .enabled(if: Engine.isCurl))
    func waitingThread() async throws {
        let answers = TestGate()
        try await serving({ _ in
            await answers.wait()
            return .text("x")
        }) { server in
            let ness = Ness(), promise = ness.get(server.at("/")).dataRequest()
            await server.waitUntil { $0.requestCount == 1 }
            await untilTrue { !CurlLibrary.isInUse }
            answers.open()
            let text = try? await promise.value.message.text
            #expect(text == "x")
            withExtendedLifetime(ness) {}
        }
    }

    @Test("a broken connection does not end the process: the threads that write block the signal", .enabled(if: Engine.isCurl))
    func brokenPipes() async throws {
        try await serving({ _ in .text("x") }) { server in
            let ness = Ness()
            _ = try await ness.get(server.at("/")).text()
            let masks = Threads.statuses(named: "ness.curl").compactMap { status -> UInt64? in
                let line = status.split(separator: "\n").first { $0.hasPrefix("SigBlk:") }
                return line?.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) }
            }
            #expect(!masks.isEmpty && masks.allSatisfy { $0 & (1 << UInt64(SIGPIPE - 1)) != 0 })
            withExtendedLifetime(ness) {}
        }
    }
}
#endif
