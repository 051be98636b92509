#if os(Linux)
import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// The descriptors of a download, over a transport that holds all it got, as a faulty one does.
@Suite(.inTurn(.withoutSockets)) struct DownloadDescriptorTests {
    private static let content = patternedData(200_000)

    enum End: CaseIterable { case success, failure, retry, drop, pause, shutdown, release }

    /// Sends half of the file, then waits for a cancellation or, if it is deaf, for a gate; then sends the rest.
    private final class HoldingTransport: Transport {
        let isDeaf: Bool
        let end: End
        let half = TestGate(), go = TestGate(), finished = TestGate()
        private let held = Log<@Sendable (TransportEvent) async throws -> Void>()

        init(_ end: End, isDeaf: Bool) { (self.end, self.isDeaf) = (end, isDeaf) }

        func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
            held.add(receive)
            defer { finished.open() }
            let middle = DownloadDescriptorTests.content.count / 2, count = DownloadDescriptorTests.content.count
            var headers: HTTPHeaders = ["Content-Length": "\(count)", "ETag": "\"v1\"", "Accept-Ranges": "bytes"]
            if request.headers["Range"] != nil {
                headers["Content-Length"] = "\(count - middle)"
                headers["Content-Range"] = "bytes \(middle)-\(count - 1)/\(count)"
                try await receive(.head(statusCode: 206, headers: headers))
                return try await receive(.body(DownloadDescriptorTests.content[middle...]))
            }
            try await receive(.head(statusCode: 200, headers: headers))
            try await receive(.body(DownloadDescriptorTests.content[..<middle]))
            half.open()
            switch end {
            case .failure, .retry: throw TransportError(.connectionLost, "lost")
            case .success: break
            case .drop, .pause, .shutdown, .release:
                while !isDeaf { try await Task.sleep(for: .seconds(1_000)) }
                await go.wait()
            }
            try await receive(.body(DownloadDescriptorTests.content[middle...]))
        }
    }

    @Test(
        "at the end of a download its files are closed, however it ends, even if the transport ignores the end and keeps what it got",
        arguments: End.allCases, [false, true])
    func closed(_ end: End, isDeaf: Bool) async throws {
        try await withFolder { folder in
            let folder = folder.resolvingSymlinksInPath(), file = folder.appending(path: "a.bin")
            let transport = HoldingTransport(end, isDeaf: isDeaf)
            var ness: Ness? = Ness { $0.transport = transport }
            var promise: DownloadPromise? = ness?.get("https://mock.test/a")
                .set(retry: end == .retry ? CounterRetryControl(maxRetryCount: 1) : nil).downloadRequest(forSavedLocation: file)
            await transport.half.wait()
            switch end {
            case .success, .retry: _ = try await promise?.value
            case .failure: #expect(await promise?.nessError()?.kind == .connectionLost)
            case .drop: promise?.drop()
            case .pause: promise?.pause()
            case .shutdown: await ness?.shutdown(within: .zero)
            case .release:
                let outcome = promise
                (ness, promise) = (nil, nil)
                outcome?.drop()
            }
            // No event reports that the file is closed.
            await untilTrue { !Self.openFiles(folder).contains { $0.contains("/a.bin.ness-part") && !$0.contains(".json") } }
            #expect(Self.openFiles(folder) == [])
            transport.go.open()
            await transport.finished.wait()
            #expect(Self.openFiles(folder) == [])
            let isComplete = end == .success || end == .retry
            #expect(folder.entries == (isComplete ? ["a.bin"] : ["a.bin.ness-part", "a.bin.ness-part.json"]))
            withExtendedLifetime((ness, promise)) {}
        }
    }

    /// The files below a folder that this process has open, even those without a name.
    static func openFiles(_ folder: URL) -> [String] {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return descriptors.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
            .filter { $0.hasPrefix(folder.path) }
    }
}
#endif
