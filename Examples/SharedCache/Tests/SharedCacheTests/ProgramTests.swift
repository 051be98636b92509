import Foundation
import NessHTTP
import NessTesting
import Testing

/// The program, in several processes at a time and one after another.
@Suite("The program", .enabled(if: RedisServer.isExpected), .timeLimit(.minutes(2)))
struct ProgramTests {
    /// The program lies beside the test bundle. On Linux the bundle is the running program; on macOS another program loads it.
    private static var url: URL {
        #if os(macOS)
        Bundle(for: TestGate.self).bundleURL.deletingLastPathComponent().appending(path: "shared-cache")
        #else
        URL(filePath: CommandLine.arguments.first ?? "").deletingLastPathComponent().appending(path: "shared-cache")
        #endif
    }

    /// Runs the program to its end.
    private func run(_ arguments: String...) async throws -> (output: String, code: Int32) {
        let process = Process(), output = Pipe()
        process.executableURL = Self.url
        process.arguments = arguments
        (process.standardOutput, process.standardError) = (output, output)
        try process.run()
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                process.waitUntilExit()
                continuation.resume(returning: (text, process.terminationStatus))
            }
        }
    }

    @Test("processes share responses, users do not, and without Redis each request reaches the server") func processes() async throws {
        try await RedisServer.run { redis in
            let server = try await TestServer.start { .text($0.path, headers: ["Cache-Control": "max-age=60"]) }
            let url = server.url.absoluteString + "/a"
            for (token, source) in [("ada", "network"), ("ada", "cache"), ("bob", "network"), ("bob", "cache")] {
                let result = try await run("--redis", redis.path, "--token", token, url)
                #expect(result.output == "200 \(source) 2 bytes \(url)\n" && result.code == 0)
            }
            #expect(server.requestCount == 2)
            await redis.stop()
            let result = try await run("--redis", redis.path, "--token", "ada", url, url)
            #expect(result.output == "200 network 2 bytes \(url)\n200 network 2 bytes \(url)\n" && result.code == 0)
            await server.stop()
        }
    }

    @Test("--help prints the usage, and wrong arguments exit with code 2") func arguments() async throws {
        let help = try await run("--help")
        #expect(help.output.hasPrefix("usage: shared-cache") && help.code == 0)
        for arguments in ["--wrong", "--redis", "--token"] { #expect(try await run(arguments).code == 2) }
        #expect(try await run("--redis", "nowhere", "http://h").code == 2)
        #expect(try await run().code == 2)
    }
}
