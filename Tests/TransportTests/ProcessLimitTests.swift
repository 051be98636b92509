#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

/// The answers of a server that end a process with URLSession on Linux. KnownLimitations.md lists them.
///
/// These tests do not demand the fault; they detect its end. A test fails if the child survives, because the toolchain has been mended.
/// Then remove `onlyOutOfProcess` from the misbehavior, so that `HostileTests` runs it, and remove the sentence from KnownLimitations.md.
@Suite(.inTurn) struct ProcessLimitTests {
    static let limits = Misbehavior.all.filter(\.onlyOutOfProcess)
    /// The misbehaviors that make the client read forever instead of ending its process.
    static let withoutEnd: Set<String> = ["chunked-endless-trailers"]

    private func child(_ server: TestServer) throws -> Child {
        // A race inside Foundation, which the thread sanitizer reports, is not the end that these tests are about.
        try Child([server.url.absoluteString], environment: ["NESS_TRANSPORT": "urlsession", "TSAN_OPTIONS": "exitcode=0"])
    }

    @Test("the limits are the documented ones")
    func list() {
        #expect(
            Self.limits.map(\.name).sorted() == [
                "chunked-endless-trailers", "chunked-trailers", "close-in-head", "half-close-in-head", "length-of-int64-max",
            ])
    }

    @Test("URLSession ends the process at each documented limit", arguments: limits.filter { !withoutEnd.contains($0.name) })
    func ends(_ misbehavior: Misbehavior) async throws {
        let server = try await TestServer.start(misbehavior)
        let child = try child(server)
        let end = await child.end()
        #expect(end.reason == .uncaughtSignal, "it ended with \(end.status): the limit is gone")
        #expect(server.requestCount == 1)
        await server.stop()
    }

    @Test("the child process works with a good server")
    func sound() async throws {
        let server = try await TestServer.start { _ in .text("fine") }
        let child = try child(server)
        let end = await child.end()
        await child.endOfLines()
        #expect(end.reason == .exit && end.status == 0, "it ended with \(end.status): \(child.lines.entries.joined(separator: "\n"))")
        #expect(server.requestCount == 1)
        await server.stop()
    }
}
#endif
