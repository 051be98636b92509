#if os(Linux) || os(macOS)
import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Downloads whose process is killed, and which another process continues.
@Suite(.inTurn) struct DownloadKillTests {
    /// Sends a file in pieces. Opens a gate when a given number of bytes has been sent for one request.
    private final class Source: Sendable {
        let file: FileServer
        private let next = Lock<(bytes: Int, gate: TestGate)?>(nil)
        private let sent = Lock<[Range<Int>]>([])

        init(_ content: Data) { file = FileServer(content: content) }

        /// The byte ranges that the requests asked for.
        var asked: [Range<Int>] { sent.withLock { $0 } }

        /// Returns a gate that opens when a given number of bytes has been sent for the next request.
        func gate(after bytes: Int) -> TestGate {
            let gate = TestGate()
            next.withLock { $0 = (bytes, gate) }
            return gate
        }

        /// From now on the server answers requests in full.
        func sendAll() { next.withLock { $0 = nil } }

        func reply(to request: ReceivedRequest) -> Reply {
            let size = file.content.count
            let start = request.headers["range"].flatMap { Int($0.dropFirst("bytes=".count).prefix { $0 != "-" }) } ?? 0
            sent.withLock { $0.append(start..<size) }
            guard start < size, let (bytes, gate) = next.withLock({ $0 }) else { return file.reply(to: request) }
            let status = start == 0 ? "200 OK" : "206 Partial Content\r\nContent-Range: bytes \(start)-\(size - 1)/\(size)"
            let head = "HTTP/1.1 \(status)\r\nETag: \"v1\"\r\nContent-Length: \(size - start)\r\n\r\n"
            // At least one byte is missing, so the download cannot end by itself.
            let cut = min(size - 1, start + bytes)
            return .script([.send(head), .sendData(file.content[start..<cut]), .signal(gate), .stall])
        }
    }

    /// Waits until a file holds a given number of bytes.
    private func wait(for count: Int, in file: URL) async { await untilTrue { length(of: file) >= count } }

    private func length(of file: URL) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int) ?? 0
    }

    @Test("a child that is killed eight times loses at most 8 MiB each time, even with a slow disk, and the final file is complete")
    func kills() async throws {
        let size = 20 << 20, content = patternedData(size), rounds = 8, most = 9 << 20
        var generator = SeededGenerator(seed: 7)
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file.bin"), partial = file.appendingPathExtension("ness-part")
            let source = Source(content)
            try await withServer({ source.reply(to: $0) }) { server, _ in
                let arguments = ["download", server.url.appending(path: "file").absoluteString, "-o", file.path]
                // The number of bytes that each killed child had, and the offset at which the next child started.
                var had: [Int] = [0], starts: [Int] = []
                for round in 0..<rounds {
                    // In every other round some bytes are still in the sockets when the child dies.
                    let waits = round.isMultiple(of: 2)
                    let bytes = Int.random(in: (waits ? 12 << 20 : 0)...(20 << 20), using: &generator)
                    let gate = source.gate(after: bytes)
                    let child = try Child(arguments)
                    await gate.wait()
                    let start = source.asked.last?.lowerBound ?? 0
                    starts.append(start)
                    if waits { await wait(for: min(size - 1, start + bytes), in: partial) }
                    child.kill()
                    #expect(await child.end().reason == .uncaughtSignal)
                    #expect(folder.entries.contains("file.bin") == false)
                    had.append(length(of: partial))
                }
                source.sendAll()
                #expect(try await Child(arguments).end().status == 0)
                starts.append(source.asked.last?.lowerBound ?? 0)
                for (had, start) in zip(had, starts) { #expect(start <= had && had - start <= most) }
                #expect(starts == starts.sorted())
                // Each of the four rounds that received their bytes advanced by at least 3 MiB.
                #expect(starts.last ?? 0 >= size - 1 - most, "\(starts)")
            }
            #expect(try Data(contentsOf: file) == content)
            #expect(folder.entries == ["file.bin"])
        }
    }

    @Test("Ctrl-C keeps the received bytes, and the same command continues") func interrupt() async throws {
        let content = patternedData(4 << 20)
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file.bin")
            let server = FileServer(content: content)
            try await withServer({ request in
                guard request.headers["range"] == nil else { return server.reply(to: request) }
                let head = "HTTP/1.1 200 OK\r\n\(opaque)ETag: \"v1\"\r\nContent-Length: \(content.count)\r\n\r\n"
                return .script([.send(head), .sendData(content.prefix(3 << 20)), .stall])
            }) { server, _ in
                let arguments = ["download", server.url.absoluteString, "-o", file.path]
                let child = try Child(arguments)
                // The child writes a line when it has the first bytes.
                await child.lines.wait(for: 1)
                child.interrupt()
                let end = await child.end()
                #expect(end.reason == .exit && end.status == 130)
                #expect(folder.entries == ["file.bin.ness-part", "file.bin.ness-part.json"])
                #expect(try await Child(arguments).end().status == 0)
                let range = try #require(server.requests.last?.headers["range"])
                // Bytes that were still in the socket when the signal arrived count as missing.
                #expect(range.hasPrefix("bytes=") && range.hasSuffix("-\(content.count - 1)"))
            }
            #expect(try Data(contentsOf: file) == content)
            #expect(folder.entries == ["file.bin"])
        }
    }
}
#endif
