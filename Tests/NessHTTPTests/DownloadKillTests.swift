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

    /// How many bytes the record beside a partial file counts: those that are on the disk for good.
    private func recorded(beside file: URL) throws -> Int {
        struct Record: Decodable {
            struct Span: Decodable { let count: Int }
            let spans: [Span]
        }
        guard let data = try? Data(contentsOf: file.appendingPathExtension("ness-part.json")) else { return 0 }
        return try JSONDecoder().decode(Record.self, from: data).spans.reduce(0) { $0 + $1.count }
    }

    @Test("a child that is killed 50 times leaves what the next can go on with; in the end the file is whole")
    func kills() async throws {
        let size = 64 << 20, content = patternedData(size), rounds = 50
        var generator = SeededGenerator(seed: 7)
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file.bin")
            let source = Source(content)
            try await withServer({ source.reply(to: $0) }) { server, _ in
                let arguments = ["download", server.url.appending(path: "file").absoluteString, "-o", file.path]
                var starts: [Int] = [], synced: [Int] = [0]
                for _ in 0..<rounds {
                    // Some of it is still in the sockets when the child dies.
                    let bytes = Int.random(in: 0...(20 << 20), using: &generator)
                    let gate = source.gate(after: bytes)
                    let child = try Child(arguments)
                    await gate.wait()
                    child.kill()
                    #expect(await child.end().reason == .uncaughtSignal)
                    #expect(folder.entries.contains("file.bin") == false)
                    starts.append(source.asked.last?.lowerBound ?? 0)
                    synced.append(try recorded(beside: file))
                }
                source.sendAll()
                #expect(try await Child(arguments).end().status == 0)
                starts.append(source.asked.last?.lowerBound ?? 0)
                // Nothing that was synced is fetched again: all that was fetched is the file once, and what was not synced when a child died.
                #expect(starts == synced)
                #expect(starts == starts.sorted())
                // How often depends on the disk: a record counts synced bytes only, and syncs take no more than half of the time.
                #expect(Set(starts).count > 2, "\(starts)")
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
