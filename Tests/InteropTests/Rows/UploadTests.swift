#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

extension Interop {
    /// Resumable uploads to servers of tus, which are killed, by clients that are killed.
    @Suite(.needs(.python, .node)) struct UploadTests {
        enum Server: String, CaseIterable {
            case tussi, litestar

            func running() async throws -> any TusServer {
                switch self {
                case .tussi: try await Servers.get(Tussi.self)
                case .litestar: try await Servers.get(LitestarTus.self)
                }
            }
        }

        /// Runs a closure with a file, and compares it with the one that the server has then.
        private func check(_ server: any TusServer, _ size: Int, _ upload: (URL) async throws -> URL?) async throws {
            try await withFolder { folder in
                let file = folder.appending(path: "sent")
                try await writeRandomBytes(size, to: file)
                let url = try #require(try await upload(file))
                #expect(try await digest(of: server.file(url.lastPathComponent)) == digest(of: file))
            }
        }

        /// URLSession sends a part of more than 1 MiB in chunks, without a length. A server may reject that.
        private func partSize(_ wire: Wire) -> Int64? { wire == .urlSession ? 1 << 20 : nil }

        @Test("an upload arrives whole", arguments: Server.allCases, Wire.allCases)
        func whole(server: Server, wire: Wire) async throws {
            let server = try await server.running(), ness = try wire.ness()
            try await check(server, 5_000_000) { file in
                let resuming = ResumableUpload.tus(metadata: ["filename": "a.bin", "title": "ä"], partSize: partSize(wire))
                return try await ness.post(server.creation).uploadRequest(forFileLocation: file, resuming: resuming).value.uploadURL
            }
        }

        @Test("a checksum of each part is verified, and the creation may carry a part", arguments: [UploadChecksum.sha256, .sha1, .md5])
        func checksum(_ checksum: UploadChecksum) async throws {
            let server = try await Servers.get(LitestarTus.self), ness = try Wire.curl.ness()
            try await check(server, 1_200_000) { file in
                let resuming = ResumableUpload.tus(partSize: 1 << 19, checksum: checksum, createsWithContent: true)
                return try await ness.post(server.creation).uploadRequest(forFileLocation: file, resuming: resuming).value.uploadURL
            }
        }

        @Test("a server that is killed ten times has the whole file in the end", arguments: Server.allCases)
        func killedServer(server: Server) async throws {
            let server = try await server.running()
            var generator = SeededGenerator(seed: 11)
            try await check(server, 40 << 20) { file in
                let exchanges = EventRecorder()
                let ness = try Wire.curl.ness(observers: [exchanges]) {
                    $0.retryControl = CounterRetryControl(maxRetryCount: 1_000, timeIntervalBeforeTryToRetry: 0.02)
                    $0.retryBudget = .unlimited
                }
                let upload = ness.post(server.creation).uploadRequest(forFileLocation: file, resuming: .tus(partSize: 1 << 20))
                for _ in 0..<10 {
                    let count = exchanges.events.filter { $0 == "exchange" }.count + Int.random(in: 1...3, using: &generator)
                    await exchanges.log.wait { $0.filter { $0 == "exchange" }.count >= count }
                    try await server.process.restart()
                }
                return try await upload.value.uploadURL
            }
        }

        @Test("clients that are killed up to twenty times send the whole file once")
        func killedClients() async throws {
            let server = try await Servers.get(LitestarTus.self)
            var generator = SeededGenerator(seed: 12)
            let before = Set(server.folder.entries)
            try await check(server, 80 << 20) { file in
                let record = file.appendingPathExtension("record")
                let arguments = ["upload", server.creation, "-o", file.path, "--record", record.path]
                /// The file of the upload on the server.
                @Sendable func received() -> URL? {
                    server.folder.entries.first { !before.contains($0) && !$0.contains(".") }.map { server.file($0) }
                }
                @Sendable func length() -> Int {
                    received().flatMap { try? FileManager.default.attributesOfItem(atPath: $0.path)[.size] as? Int } ?? 0
                }
                var hasKilled = true
                for _ in 0..<20 where hasKilled {
                    let more = Int.random(in: 1...(3 << 20), using: &generator), enough = min(length() + more, (80 << 20) - 1)
                    let child = try Child(arguments)
                    await untilTrue { length() >= enough }
                    child.kill()
                    // While a busy machine suspends the tests, a child may send the rest: the kill then finds it at its end, after
                    // it has removed the record. Another child would start over.
                    let isKilled = await child.end().reason == .uncaughtSignal
                    hasKilled = isKilled && FileManager.default.fileExists(atPath: record.path)
                }
                if hasKilled { #expect(try await Child(arguments).end().status == 0) }
                #expect(!FileManager.default.fileExists(atPath: record.path))
                return received()
            }
            let uploads = server.folder.entries.filter { !before.contains($0) && $0.hasSuffix(".info") }
            #expect(uploads.count == 1)
        }

        @Test("a process with 128 MiB of memory sends 2 GiB in one part")
        func memory() async throws {
            let server = try await Servers.get(Node.self)
            try await withFolder { folder in
                let file = folder.appending(path: "sparse"), length: UInt64 = 2 << 30
                #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
                let handle = try FileHandle(forWritingTo: file)
                try handle.truncate(atOffset: length)
                try handle.close()
                let script = "ulimit -d 131072; exec \"$0\" \"$@\""
                let arguments = ["-c", script, Child.executable.path, "upload", server.at("/films"), "-o", file.path]
                let child = try Child(arguments, executable: URL(filePath: "/bin/bash"))
                #expect(await child.end().status == 0)
                await child.endOfLines()
                #expect(child.lines.entries.filter { $0.hasPrefix("ness-demo") }.isEmpty)
            }
        }

        @Test("tuspy sends one half and Ness the other, in both orders", arguments: [true, false])
        func halves(endsWithNess: Bool) async throws {
            let server = try await Servers.get(LitestarTus.self), ness = try Wire.curl.ness()
            let python = try #require(Program.python.path)
            try await check(server, 6_000_000) { file in
                func run(_ mode: String, _ address: String) async throws -> String {
                    let child = try Child([TusProgram.path, mode, address, file.path], executable: URL(filePath: python))
                    #expect(await child.end().status == 0)
                    await child.endOfLines()
                    return child.lines.entries.last ?? ""
                }
                let url = try #require(URL(string: try await run("create", server.creation)))
                let request = ness.post(server.creation)
                if endsWithNess {
                    _ = try await run("half", url.absoluteString)
                    let done = try await request.uploadRequest(forFileLocation: file, resuming: .tus(continuing: url)).value
                    #expect(done.uploadURL == url)
                } else {
                    let parts = EventRecorder()
                    let half = request.add(observer: parts).uploadRequest(
                        forFileLocation: file, resuming: .tus(continuing: url, partSize: 1 << 20))
                    await parts.log.wait { $0.filter { $0 == "exchange" }.count == 4 }
                    half.drop()
                    _ = try await run("rest", url.absoluteString)
                }
                return url
            }
        }
    }
}
#endif
