import Foundation
import NessTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct MirrorTests {
    private static let largeSize = 16 << 20, cut = 12 << 20
    private static let digestOfFile7 = "7e78d7ad73943603fba0fa0e875116cf58ab284a14069607e9cd2e8aa0976663"

    /// Fifty small files, one of which grows large. Until it is opened, the server answers 29 requests, whichever they are, and one more
    /// with a part of a large file. It keeps the others waiting.
    private final class Files: Sendable {
        private struct State {
            var isOpen = false
            var large: Int?
            var answered: [Int] = []
        }
        private let state = Mutex(State())

        func open() { state.withLock { $0.isOpen = true } }

        /// The number of the large file; `nil` if there is none yet.
        var large: Int? { state.withLock { $0.large } }

        /// The numbers of the files that were sent in full before the server was opened.
        var answered: [Int] { state.withLock { $0.answered } }

        func content(_ number: Int) -> Data {
            guard number == large else { return Data("file \(number)".utf8) }
            return Array(0..<MirrorTests.largeSize / 8).withUnsafeBytes { Data($0) }
        }

        /// Returns true if the file is to be sent in full.
        private func isAnswered(_ number: Int) -> Bool {
            state.withLock { state in
                if state.isOpen { return true }
                if state.large == nil, state.answered.count >= 10, number != 7 { state.large = number }
                // File 7 waits, because the next run would not ask for it: its digest is in the list.
                if number == 7 || state.large == number || state.answered.count == 29 { return false }
                state.answered.append(number)
                return true
            }
        }

        func reply(to request: ReceivedRequest) -> Reply {
            guard let number = Int(request.path.dropFirst("/files/".count)), (0..<50).contains(number) else { return .status(404) }
            let isAnswered = isAnswered(number), content = content(number), tag = "\"v\(number)\""
            if request.headers["If-None-Match"] == tag { return .status(304, headers: ["ETag": tag]) }
            if !isAnswered {
                guard number == large else { return .script([.stall]) }
                let head = "HTTP/1.1 200 OK\r\nETag: \(tag)\r\nContent-Length: \(content.count)\r\n\r\n"
                return .script([.send(head), .sendData(content.prefix(MirrorTests.cut)), .stall])
            }
            guard let range = request.headers["Range"], let start = Self.start(of: range) else {
                return .data(content, headers: ["ETag": tag])
            }
            return .data(
                content.dropFirst(start), status: 206,
                headers: ["ETag": tag, "Content-Range": "bytes \(start)-\(content.count - 1)/\(content.count)"])
        }

        /// Returns the first byte of a range such as `bytes=7-`.
        static func start(of range: String) -> Int? { Int(range.dropFirst("bytes=".count).prefix { $0 != "-" }) }
    }

    private func writeList(_ server: TestServer, digests: [Int: String], to file: URL) throws {
        let lines = (0..<50).map { "\(server.url)/files/\($0) \(digests[$0] ?? "")\n" }
        try Data(("# fifty files\n" + lines.joined()).utf8).write(to: file)
    }

    private func length(of file: URL) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int) ?? -1
    }

    /// Waits until a file has a number of bytes.
    private func wait(for count: Int, in file: URL) async throws {
        while length(of: file) < count {
            try Task.checkCancellation()
            await Task.yield()
        }
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
            await server.waitUntil { $0.busyConnections == 4 && $0.requestCount == 33 }
            // A file counts as complete for the next run when its version is on the disk, too.
            for number in files.answered {
                for name in ["\(number)", "\(number).ness-version"] { try await wait(for: 0, in: mirror.appending(path: name)) }
            }
            let large = try #require(files.large)
            try await wait(for: Self.cut, in: mirror.appending(path: "\(large).ness-part"))
            await killed.wait(for: " of 50 files, ")
            killed.kill()
            #expect(await killed.end() == -SIGKILL)
            // 29 files, and as many unanswered requests as may run at once.
            #expect(server.requestCount == 33)

            files.open()
            let (code, second) = try await run("mirror", arguments)
            #expect(code == 0, "\(second.errors)")
            #expect(second.output == "21 fetched, 29 unchanged, 0 failed\n")
            #expect(second.errors.split(separator: "\r").last?.hasPrefix("50 of 50 files, 100 % of ") == true)
            #expect(!second.errors.dropLast().contains("\n"))
            let requests = server.requests.dropFirst(33)
            #expect(requests.count == 50)
            #expect(requests.count { $0.headers["If-None-Match"] != nil } == 29)
            let range = try #require(requests.first { $0.path == "/files/\(large)" }?.headers["Range"])
            #expect(try #require(Files.start(of: range)) >= Self.cut - (9 << 20))
            for number in 0..<50 {
                #expect(try Data(contentsOf: mirror.appending(path: "\(number)")) == files.content(number))
            }

            let third = try await run("mirror", arguments)
            #expect(third.program.output == "0 fetched, 50 unchanged, 0 failed\n")
        }
    }

    @Test("a file whose digest differs from the list is not saved; the others are")
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

    @Test("a list with a name outside the folder, or with a duplicate name, is rejected", arguments: ["..", "a\nhttp://h.test/x/a"])
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
