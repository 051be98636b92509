#if os(Linux) || os(macOS)
import Foundation
import NessHTTP
import NessTesting
import Testing

/// A download whose process is killed, and begun again by another.
@Suite(.inTurn) struct DownloadKillTests {
    /// Sends a file in pieces, and opens the gate of the moment when so many bytes have left for one request.
    private final class Source: Sendable {
        let file: FileServer
        private let next = Lock<(bytes: Int, gate: TestGate)?>(nil)
        private let sent = Lock<[Range<Int>]>([])

        init(_ content: Data) { file = FileServer(content: content) }

        /// What was asked for, and how much of it was handed to the wire at least.
        var asked: [Range<Int>] { sent.withLock { $0 } }

        /// The gate that opens when the next request has been sent so many bytes.
        func gate(after bytes: Int) -> TestGate {
            let gate = TestGate()
            next.withLock { $0 = (bytes, gate) }
            return gate
        }

        /// From now on requests are answered in full.
        func sendAll() { next.withLock { $0 = nil } }

        func reply(to request: ReceivedRequest) -> Reply {
            let size = file.content.count
            let start = request.headers["range"].flatMap { Int($0.dropFirst("bytes=".count).prefix { $0 != "-" }) } ?? 0
            sent.withLock { $0.append(start..<size) }
            guard start < size, let (bytes, gate) = next.withLock({ $0 }) else { return file.reply(to: request) }
            let status = start == 0 ? "200 OK" : "206 Partial Content\r\nContent-Range: bytes \(start)-\(size - 1)/\(size)"
            let head = "HTTP/1.1 \(status)\r\nETag: \"v1\"\r\nContent-Length: \(size - start)\r\n\r\n"
            // Never all of it: it must not end by itself.
            let cut = min(size - 1, start + bytes)
            return .script([.send(head), .sendData(file.content[start..<cut]), .signal(gate), .stall])
        }
    }

    /// Waits until a file holds so many bytes.
    private func wait(for count: Int, in file: URL) async {
        while length(of: file) < count { await Task.yield() }
    }

    private func length(of file: URL) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int) ?? 0
    }

    @Test("a child that is killed 50 times has 8 MiB at most fetched again each time, whatever the disk does; in the end the file is whole")
    func kills() async throws {
        let size = 64 << 20, content = patternedData(size), rounds = 50, most = 9 << 20
        var generator = SeededGenerator(seed: 7)
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file.bin"), partial = file.appendingPathExtension("ness-part")
            let source = Source(content)
            try await withServer({ source.reply(to: $0) }) { server, _ in
                let arguments = ["download", server.url.appending(path: "file").absoluteString, "-o", file.path]
                // What the children had, when they were killed, and where the next one began.
                var had: [Int] = [0], starts: [Int] = []
                for round in 0..<rounds {
                    // In every other round some of it is still in the sockets when the child dies.
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
                // Each of the 25 rounds that got their bytes went on by 3 MiB at least.
                #expect(starts.last ?? 0 >= size - 1 - most, "\(starts)")
            }
            #expect(try Data(contentsOf: file) == content)
            #expect(folder.entries == ["file.bin"])
        }
    }

    @Test("Ctrl-C keeps what came; the same command goes on") func interrupt() async throws {
        let content = patternedData(4 << 20)
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file.bin")
            let server = FileServer(content: content)
            try await withServer({ request in
                guard request.headers["range"] == nil else { return server.reply(to: request) }
                let head = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: \(content.count)\r\n\r\n"
                return .script([.send(head), .sendData(content.prefix(3 << 20)), .stall])
            }) { server, _ in
                let arguments = ["download", server.url.absoluteString, "-o", file.path]
                let child = try Child(arguments)
                // It says so when it has the first bytes.
                await child.lines.wait(for: 1)
                child.interrupt()
                let end = await child.end()
                #expect(end.reason == .exit && end.status == 130)
                #expect(folder.entries == ["file.bin.ness-part", "file.bin.ness-part.json"])
                #expect(try await Child(arguments).end().status == 0)
                let range = try #require(server.requests.last?.headers["range"])
                // What the socket still held when the signal came was not fetched yet.
                #expect(range.hasPrefix("bytes=") && range.hasSuffix("-\(content.count - 1)"))
            }
            #expect(try Data(contentsOf: file) == content)
            #expect(folder.entries == ["file.bin"])
        }
    }
}
#endif
