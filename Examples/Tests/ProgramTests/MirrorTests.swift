import Foundation
import NessTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct MirrorTests {
    private static let bigSize = 16 << 20, bigCut = 12 << 20
    private static let digestOfFile7 = "7e78d7ad73943603fba0fa0e875116cf58ab284a14069607e9cd2e8aa0976663"

    /// A server with fifty files. Number 20 is large. Until it is opened, the server sends only a part of that file, and nothing of the
    /// files after number 29.
    private final class Files: Sendable {
        private let isOpen = Mutex(false)

        func open() { isOpen.withLock { $0 = true } }

        func content(_ number: Int) -> Data {
            number == 20 ? Data((0..<MirrorTests.bigSize / 8).flatMap { index in withUnsafeBytes(of: index) { Array($0) } })
                : Data("file \(number)".utf8)
        }

        func reply(to request: ReceivedRequest) -> Reply {
            guard let number = Int(request.path.dropFirst("/files/".count)), (0..<50).contains(number) else { return .status(404) }
            let content = content(number), tag = "\"v\(number)\"", isOpen = isOpen.withLock { $0 }
            if request.headers["If-None-Match"] == tag { return .status(304, headers: ["ETag": tag]) }
            if !isOpen, number == 20 {
                let head = "HTTP/1.1 200 OK\r\nETag: \(tag)\r\nContent-Length: \(content.count)\r\n\r\n"
                return .script([.send(head), .sendData(content.prefix(MirrorTests.bigCut)), .stall])
            }
            if !isOpen, number > 29 { return .script([.stall]) }
            if let start = request.headers["Range"].flatMap({ Int($0.dropFirst("bytes=".count).prefix { $0 != "-" }) }) {
                return .data(
                    content.dropFirst(start), status: 206,
                    headers: ["ETag": tag, "Content-Range": "bytes \(start)-\(content.count - 1)/\(content.count)"])
            }
            return .data(content, headers: ["ETag": tag])
        }
    }

    private func writeList(_ server: TestServer, digests: [Int: String], to file: URL) throws {
        let lines = (0..<50).map { "\(server.url)/files/\($0) \(digests[$0] ?? "")\n" }
        try Data(("# fifty files\n" + lines.joined()).utf8).write(to: file)
    }

    private func length(of file: URL) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int) ?? -1
    }

    @Test("after a kill the next run fetches only what is missing, and the run after it fetches nothing")
    func kill() async throws {
        let files = Files()
        let server = try await TestServer.start { files.reply(to: $0) }
        try await withFolder { folder in
            let list = folder.appending(path: "list"), mirror = folder.appending(path: "mirror")
            try writeList(server, digests: [7: Self.digestOfFile7], to: list)
            let arguments = ["--parallel", "4", list.path, mirror.path]

            let killed = try Program("mirror", arguments)
            let complete = (0..<30).filter { $0 != 20 }
            // A file counts as complete for the next run when its version is on the disk, too.
            for number in complete {
                for name in ["\(number)", "\(number).ness-version"] {
                    while length(of: mirror.appending(path: name)) < 0 { await Task.yield() }
                }
            }
            while length(of: mirror.appending(path: "20.ness-part")) < Self.bigCut { await Task.yield() }
            await server.waitUntil { $0.busyConnections == 4 && $0.requestCount == 33 }
            killed.kill()
            #expect(await killed.end() == -SIGKILL)
            // 29 files, and four requests that are not answered: the limit.
            #expect(server.requestCount == 33)
            #expect(killed.errors.contains(" of 50 files, "))

            files.open()
            let (code, second) = try await run("mirror", arguments)
            #expect(code == 0, "\(second.errors)")
            #expect(second.output == "21 fetched, 29 unchanged, 0 failed\n")
            #expect(second.errors.split(separator: "\r").last?.hasPrefix("50 of 50 files, 100 % of ") == true)
            #expect(!second.errors.dropLast().contains("\n"))
            let requests = server.requests.dropFirst(33)
            #expect(requests.count == 50)
            #expect(requests.count { $0.headers["If-None-Match"] != nil } == 29)
            let range = try #require(requests.first { $0.path == "/files/20" }?.headers["Range"])
            let start = try #require(Int(range.dropFirst("bytes=".count).prefix { $0 != "-" }))
            #expect(start >= Self.bigCut - 9 << 20)
            for number in 0..<50 {
                #expect(try Data(contentsOf: mirror.appending(path: "\(number)")) == files.content(number))
            }

            let third = try await run("mirror", arguments)
            #expect(third.program.output == "0 fetched, 50 unchanged, 0 failed\n")
        }
    }

    @Test("a file with another digest than the list says does not get its name; the others do")
    func digest() async throws {
        let files = Files()
        files.open()
        let server = try await TestServer.start { files.reply(to: $0) }
        try await withFolder { folder in
            let list = folder.appending(path: "list"), mirror = folder.appending(path: "mirror")
            try writeList(server, digests: [7: Self.digestOfFile7, 8: Self.digestOfFile7], to: list)
            let (code, program) = try await run("mirror", [list.path, mirror.path])
            #expect(code == 1)
            #expect(program.output == "49 fetched, 0 unchanged, 1 failed\n")
            #expect(program.errors.contains("\nmirror: 8: "))
            #expect(program.errors.contains("SHA-256"))
            #expect(length(of: mirror.appending(path: "8")) < 0)
        }
    }

    @Test("a list with a name that leads out of the folder, or with a name twice, is refused", arguments: ["..", "a\nhttp://h.test/x/a"])
    func list(name: String) async throws {
        try await withFolder { folder in
            let list = folder.appending(path: "list")
            try Data("http://h.test/\(name)\n".utf8).write(to: list)
            let (code, program) = try await run("mirror", [list.path, folder.path])
            #expect(code == 2)
            #expect(program.errors.hasPrefix("mirror: "))
        }
    }
}
