import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite("The program", .serialized, .timeLimit(.minutes(2))) struct ProgramTests {
    /// The program lies beside the test bundle. On Linux the bundle is the running program; on macOS another program loads it.
    private static var url: URL {
        #if os(macOS)
        Bundle(for: TestGate.self).bundleURL.deletingLastPathComponent().appending(path: "gateway")
        #else
        URL(filePath: CommandLine.arguments.first ?? "").deletingLastPathComponent().appending(path: "gateway")
        #endif
    }

    /// Starts the program.
    private func start(_ arguments: [String]) throws -> (process: Process, output: Pipe, errors: Pipe, ended: TestGate) {
        let process = Process(), output = Pipe(), errors = Pipe(), ended = TestGate()
        process.executableURL = Self.url
        process.arguments = arguments
        (process.standardOutput, process.standardError) = (output, errors)
        process.terminationHandler = { _ in ended.open() }
        try process.run()
        return (process, output, errors, ended)
    }

    /// Reads what is there, on a thread that may block.
    private func read(_ pipe: Pipe) async -> String {
        let file = pipe.fileHandleForReading.fileDescriptor
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var bytes = [UInt8](repeating: 0, count: 4_096)
                let count = Foundation.read(file, &bytes, bytes.count)
                continuation.resume(returning: String(decoding: bytes.prefix(max(0, count)), as: UTF8.self))
            }
        }
    }

    @Test("--help prints the usage, and wrong arguments exit with code 2")
    func arguments() async throws {
        let help = try start(["--help"])
        #expect(await read(help.output).hasPrefix("usage: gateway"))
        await help.ended.wait()
        #expect(help.process.terminationStatus == 0)
        for arguments in [[], ["--port", "x", "http://h"], ["--wrong"], ["ftp://h"], ["http://h/?q"]] {
            let program = try start(arguments)
            #expect(await read(program.errors).hasPrefix("gateway: "))
            await program.ended.wait()
            #expect(program.process.terminationStatus == 2, "\(arguments)")
        }
    }

    @Test("serves until Ctrl-C")
    func serves() async throws {
        let server = try await TestServer.start { .text($0.path) }
        let program = try start(["--port", "0", server.url.absoluteString])
        let line = await read(program.output)
        let url = try #require(line.split(separator: " ").first)
        let ness = makeClient()
        let text = try await ness.get("\(url)/a").text()
        #expect(text == "/a")
        await ness.shutdown(within: .zero)
        program.process.interrupt()
        await program.ended.wait()
        #expect(program.process.terminationStatus == 0)
    }
}
