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

    @Test("a file that grows while a redirect is followed is sent whole", arguments: [307, 308]) func grown(status: Int) async throws {
        try await withUpload(of: 1_000) { number, _ in
            number == 1 ? .status(status, headers: ["Location": "/b"]) : .text("ok")
        } _: { file, _, rig in
            let builder = rig.ness.httpRequest(.put, withUrl: "a").set(
                redirects: .decide { _ in
                    try? patternedData(2_000).write(to: file)
                    return .follow
                })
            _ = try await builder.uploadRequest(forFileLocation: file).value
            #expect(rig.server.requests.map(\.body.count) == [1_000, 2_000])
        }
    }

    @Test("the file that a link leads to takes the place of another body; a type that the caller set wins")
    func otherBody() async throws {
        try await withUpload(of: 10) { file, content, rig in
            let link = rig.folder.appendingPathComponent("link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            let builder = rig.ness.httpRequest(.post, withUrl: "a").set(body: Data("other".utf8)).set(headers: ["Content-Type": "video/mp4"]
            )
            _ = try await builder.uploadRequest(forFileLocation: link).value
            #expect(
                rig.server.requests.first?.body == content
                    && rig.server.requests.first?.headers.members(of: "content-type") == ["video/mp4"])
        }
    }

    @Test(
        "a file that can't be sent is a typed error, and nothing is sent",
        arguments: ["missing", "folder", "no file", "pipe", "link to nowhere", "missing folder"]
            // Root may read everything.
            + (getuid() == 0 ? [] : ["no permission"]))
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
            case "no permission":
                try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: file.path)
                place = file
            default: break
            }
            let promise = rig.ness.httpRequest(.put, withUrl: "a").uploadRequest(forFileLocation: place, with: Eager())
            let error = await promise.nessError()
            #expect(error?.kind == .invalidRequest && error.map { !"\($0)".contains(rig.folder.path) } == true)
            #expect(rig.server.requestCount == 0)
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

    @Test(
        "progress follows the bytes as they leave; a drop closes the connection, and the server sees no whole request",
        arguments: [false, true])
    func progress(drops: Bool) async throws {
        try await withStalledServer { server, ness, file, go, gates in
            let seen = Log<TransferProgress>()
            let promise = ness.httpRequest(.put, withUrl: "a").uploadRequest(forFileLocation: file).onProgress { seen.add($0) }
            await gates.changed.wait { promise.progress.completedBytes > 0 }
            let fraction = try #require(promise.progress.fractionCompleted)
            #expect(fraction > 0 && fraction < 1 && promise.status.text.hasPrefix("running 0."))
            if drops {
                promise.drop()
                #expect(await promise.nessError()?.kind == .dropped)
                go.open()
                #expect(await server.waitUntil { $0.connectionCount > 0 && $0.busyConnections == 0 })
                return #expect(server.requestCount == 0)
            }
            go.open()
            _ = try await promise.value
            for await _ in promise.progressUpdates {}
            let counts = seen.entries.map(\.completedBytes)
            #expect(counts == counts.sorted() && counts.last == 64 << 20 && seen.entries.allSatisfy { $0.totalBytes == 64 << 20 })
        }
    }

    @Test(
        "the whole file is sent again by a retry, by a redirect with 307 or 308, after a broken connection, and after a 401 was handled",
        arguments: [503, 307, 308, 0, 401], [1_000, 3_000_000])
    func again(status: Int, count: Int) async throws {
        let authentication = RefreshableAuthentication(credential: "old") {
            ["Authorization": $0]
        } refresh: { _, _ in
            "new"
        }
        try await withUpload(of: count) { number, _ in
            if number > 1 { return .text("ok") }
            return status == 0 ? .script([.reset]) : .text("no", status: status, headers: ["Location": "/b"])
        } configure: {
            if status == 401 { $0.authentication = authentication }
        } _: { file, content, rig in
            let promise = rig.ness.httpRequest(.put, withUrl: "a").uploadRequest(
                forFileLocation: file, with: CounterRetryControl(maxRetryCount: 1))
            let result = try await promise.value
            #expect(result.message.text == "ok" && rig.server.requests.map(\.body) == [content, content])
            #expect(promise.progress.fractionCompleted == 1)
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
