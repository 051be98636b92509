import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Uploads from disk, over real sockets.
@Suite(.inTurn) struct UploadTests {
    /// Runs a test with a file of so many bytes and a server that answers by the number of the request.
    private func withUpload(
        of count: Int, _ answer: @escaping @Sendable (Int, ReceivedRequest) async -> Reply = { _, _ in .text("ok") },
        configure: (inout Ness.Configuration) -> Void = { _ in },
        _ body: (_ file: URL, _ content: Data, _ rig: DownloadRig) async throws -> Void
    ) async throws {
        try await withDownloads(answer, configure: configure) { rig in
            let content = patternedData(count)
            let file = rig.folder.appendingPathComponent("up load.bin")
            try content.write(to: file)
            try await body(file, content, rig)
        }
    }

    @Test(
        "a file is sent byte for byte, with the builder's fields",
        arguments: [0, 1, 100_000, 1 << 20, (1 << 20) + 1, 5_000_000])
    func bytes(count: Int) async throws {
        try await withUpload(of: count) { file, content, rig in
            let builder = rig.ness.httpRequest(.put, withUrl: "a").set(headers: ["X-Name": "n"])
            let promise = builder.uploadRequest(forFileLocation: file)
            let result = try await promise.value
            #expect(result.message.statusCode == 200 && result.message.text == "ok")
            let request = try #require(rig.server.requests.first)
            #expect(request.body == content && request.headers["x-name"] == "n")
            #expect(request.headers["content-type"] == "application/octet-stream")
            #if os(Linux)
            // URLSession sends streams in chunks there.
            #expect(request.headers["Expect"] == nil)
            #expect(request.isChunked == (Engine.isURLSessionOnLinux && count > 1 << 20))
            #endif
            #expect(request.isChunked || request.headers["content-length"] == "\(count)")
            #expect(promise.progress == TransferProgress(completedBytes: Int64(count), totalBytes: Int64(count)))
        }
    }

    @Test("an upload decodes its response as a data request does, and its progress is that of the upload")
    func decodes() async throws {
        let user = User(id: 7, name: "n")
        let answer: @Sendable (Int, ReceivedRequest) async -> Reply = { _, request in
            switch request.path {
            case "/user": .json(user)
            case "/text": .text("a,b")
            case "/none": .status(204)
            default: .json(["title": "full"], status: 507)
            }
        }
        try await withUpload(of: 100_000, answer) { file, content, rig in
            let promise = rig.ness.put("user").uploadRequest(forFileLocation: file, decoding: User.self)
            #expect(try await promise.value == user)
            #expect(promise.progress == TransferProgress(completedBytes: 100_000, totalBytes: 100_000))
            let request = try #require(rig.server.requests.first)
            #expect(request.body == content && request.headers["Accept"]?.hasPrefix("application/json") == true)
            try await rig.ness.put("none").uploadRequest(forFileLocation: file, decoding: Void.self).value
            #expect(try await rig.ness.put("none").uploadRequest(forFileLocation: file, decoding: User?.self).value == nil)
            let text = try await rig.ness.put("text").uploadRequest(forFileLocation: file, decodedBy: Comma()).value
            #expect(text == ["a", "b"])
            let rejected = rig.ness.put("full").decodingErrors(as: APIProblem.self)
                .uploadRequest(forFileLocation: file, decoding: User.self)
            let error = await rejected.nessError()
            #expect(error?.kind == .validation && (error?.underlying as? APIProblem)?.title == "full")
            #expect(await rig.ness.put("text").uploadRequest(forFileLocation: file, decoding: User.self).nessError()?.kind == .validation)
        }
    }

    private struct Comma: ResponseDecoder {
        func decode(from data: Data) -> [String] { String(decoding: data, as: UTF8.self).split(separator: ",").map(String.init) }
    }

    @Test("the file takes the place of another body; a type that the caller set wins")
    func otherBody() async throws {
        try await withUpload(of: 10) { file, content, rig in
            let builder = rig.ness.httpRequest(.post, withUrl: "a").set(body: Data("other".utf8)).set(headers: ["Content-Type": "video/mp4"]
            )
            _ = try await builder.uploadRequest(forFileLocation: file).value
            #expect(
                rig.server.requests.first?.body == content
                    && rig.server.requests.first?.headers.members(of: "content-type") == ["video/mp4"])
        }
    }

    @Test(
        "a file that can't be sent is a typed error, and nothing is sent",
        arguments: ["missing", "folder", "no file", "pipe", "link to nowhere", "missing folder"])
    func unreadable(what: String) async throws {
        try await withUpload(of: 10) { file, _, rig in
            var place = rig.folder.appendingPathComponent("missing")
            switch what {
            case "folder": place = rig.folder
            case "no file": place = try url("https://example.com/file")
            case "pipe": #expect(mkfifo(place.path, 0o644) == 0)
            case "link to nowhere":
                try FileManager.default.createSymbolicLink(at: place, withDestinationURL: rig.folder.appendingPathComponent("nowhere"))
            case "missing folder": place = rig.folder.appendingPathComponent("no/where")
            default: break
            }
            let promise = rig.ness.httpRequest(.put, withUrl: "a").uploadRequest(forFileLocation: place, with: Eager())
            let error = await promise.nessError()
            #expect(error?.kind == .invalidRequest && error.map { !"\($0)".contains(rig.folder.path) } == true)
            #expect(rig.server.requestCount == 0)
        }
    }

    @Test("a file without permission is a typed error", .enabled(if: getuid() != 0, "root may read everything"))
    func noPermission() async throws {
        try await withUpload(of: 10) { file, _, rig in
            try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: file.path)
            #expect(
                await rig.ness.httpRequest(.put, withUrl: "a").uploadRequest(forFileLocation: file).nessError()?.kind == .invalidRequest)
        }
    }

    @Test("a link to a file is sent as that file")
    func link() async throws {
        try await withUpload(of: 10) { file, content, rig in
            let link = rig.folder.appendingPathComponent("link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            _ = try await rig.ness.httpRequest(.put, withUrl: "a").uploadRequest(forFileLocation: link).value
            #expect(rig.server.requests.first?.body == content)
        }
    }

    /// A server that reads nothing until it is let: what the client has read of its file by then is what the sockets hold.
    private func withStalledServer(_ body: (TestServer, Ness, URL, _ go: TestGate, ReceiveGates) async throws -> Void) async throws {
        let go = TestGate(), gates = ReceiveGates()
        try await withFolder { folder in
            let file = folder.appendingPathComponent("big")
            try Data(repeating: 7, count: 64 << 20).write(to: file)
            try await serving(script: { _ in [.wait(go), .receiveRequest, .respond(.text("ok")), .close] }) { server in
                let ness = Ness {
                    $0.baseURL = server.url
                    gates.install(in: &$0)
                }
                try await body(server, ness, file, go, gates)
            }
        }
    }

    @Test("a file that becomes shorter while it is sent is a typed error, and the server sees no whole request")
    func shrinking() async throws {
        try await withStalledServer { server, ness, file, go, gates in
            let promise = ness.httpRequest(.put, withUrl: "a").uploadRequest(forFileLocation: file, with: Eager())
            await gates.changed.wait { promise.progress.completedBytes > 0 }
            let handle = try FileHandle(forWritingTo: file)
            try handle.truncate(atOffset: 1_000)
            try handle.close()
            go.open()
            let error = await promise.nessError()
            #expect(error?.kind == .invalidRequest && error?.context.reason.contains("became shorter") == true)
            #expect(await server.waitUntil { $0.connectionCount > 0 && $0.busyConnections == 0 })
            #expect(server.requestCount == 0)
        }
    }

    @Test("progress follows the bytes as they leave, with the total from the start")
    func progress() async throws {
        try await withStalledServer { server, ness, file, go, gates in
            let seen = Log<TransferProgress>()
            let promise = ness.httpRequest(.put, withUrl: "a").uploadRequest(forFileLocation: file).onProgress { seen.add($0) }
            await gates.changed.wait { promise.progress.completedBytes > 0 }
            let fraction = try #require(promise.progress.fractionCompleted)
            #expect(fraction > 0 && fraction < 1 && promise.status.text.hasPrefix("running 0."))
            go.open()
            _ = try await promise.value
            for await _ in promise.progressUpdates {}
            let counts = seen.entries.map(\.completedBytes)
            #expect(counts == counts.sorted() && counts.last == 64 << 20 && seen.entries.allSatisfy { $0.totalBytes == 64 << 20 })
        }
    }

    @Test("a drop in the middle closes the connection; the server sees no whole request")
    func dropInTheMiddle() async throws {
        try await withStalledServer { server, ness, file, go, gates in
            let promise = ness.httpRequest(.put, withUrl: "a").uploadRequest(forFileLocation: file)
            await gates.changed.wait { promise.progress.completedBytes > 0 }
            promise.drop()
            #expect(await promise.nessError()?.kind == .dropped)
            go.open()
            #expect(await server.waitUntil { $0.connectionCount > 0 && $0.busyConnections == 0 })
            #expect(server.requestCount == 0)
        }
    }

    @Test(
        "a retry and a redirect with 307 or 308 send the whole file again",
        arguments: [(503, 1_000), (503, 3_000_000), (307, 3_000_000), (308, 1_000), (308, 3_000_000)])
    func again(status: Int, count: Int) async throws {
        try await withUpload(of: count) { number, _ in
            number == 1 ? .text("no", status: status, headers: ["Location": "/b"]) : .text("ok")
        } _: { file, content, rig in
            let promise = rig.ness.httpRequest(.put, withUrl: "a").uploadRequest(
                forFileLocation: file, with: CounterRetryControl(maxRetryCount: 1))
            let result = try await promise.value
            #expect(result.message.text == "ok" && rig.server.requests.map(\.body) == [content, content])
            #expect(promise.progress.fractionCompleted == 1)
        }
    }

    @Test(
        "the whole file is sent again after a connection broke in the middle, and after a 401 was handled",
        arguments: ["reset", "401"])
    func afterABreak(how: String) async throws {
        let authentication = RefreshableAuthentication(credential: "old") {
            ["Authorization": $0]
        } refresh: { _, _ in
            "new"
        }
        try await withUpload(of: 3_000_000) { number, request in
            if how == "reset" { return number == 1 ? .script([.reset]) : .text("ok") }
            return request.headers["authorization"] == "old" ? .status(401) : .text("ok")
        } configure: {
            if how == "401" { $0.authentication = authentication }
        } _: { file, content, rig in
            let promise = rig.ness.httpRequest(.put, withUrl: "a").uploadRequest(
                forFileLocation: file, with: CounterRetryControl(maxRetryCount: 1))
            _ = try await promise.value
            #expect(rig.server.requests.map(\.body) == [content, content])
        }
    }

    @Test(
        "equal uploads are sent separately unless a handler shares them, and one file is never taken for another")
    func duplicates() async throws {
        let gate = TestGate()
        try await withUpload(of: 1_000) { _, _ in
            await gate.wait()
            return .text("ok")
        } _: { file, content, rig in
            let other = rig.folder.appendingPathComponent("other")
            try Data("other".utf8).write(to: other)
            let builder = rig.ness.httpRequest(.put, withUrl: "a")
            let separate = [builder.uploadRequest(forFileLocation: file), builder.uploadRequest(forFileLocation: file)]
            #expect(await rig.server.waitUntil { $0.requestCount == 2 })
            rig.ness.duplicatedHandler = DefaultDuplicatedHandler.keepAllCompletion
            let shared = [file, file, other].map { builder.uploadRequest(forFileLocation: $0) }
            #expect(await rig.server.waitUntil { $0.requestCount == 4 })
            gate.open()
            for promise in separate + shared { _ = try await promise.value }
            #expect(rig.server.requestCount == 4)
            #expect(rig.server.requests.suffix(2).contains { $0.bodyText == "other" })
            #expect(rig.server.requests.suffix(2).contains { $0.body == content })
            #expect(shared.allSatisfy { $0.progress.fractionCompleted == 1 })
        }
    }
}
