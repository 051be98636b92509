import Foundation
@testable import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Several downloads to one destination, and the names of files in a folder.
@Suite(.inTurn(.withoutSockets)) struct DownloadSharingTests {
    private static let content = patternedData(300_000)
    private static let server = FileServer(content: content)

    @Test("equal downloads share one exchange and one file; downloads to two places do not")
    func equal() async throws {
        let gate = TestGate()
        try await withDownloads(of: Self.server) {
            await gate.wait()
            return $1
        } _: { rig in
            let promises = (0..<5).map { _ in rig.start() }
            let elsewhere = rig.ness.httpRequest(withUrl: "a").downloadRequest(forSavedLocation: rig.folder.appendingPathComponent("b.bin"))
            let inMemory = rig.ness.httpRequest(withUrl: "a").dataRequest()
            #expect(await rig.server.waitUntil { $0.requestCount == 3 })
            gate.open()
            for promise in promises {
                let result = try await promise.value
                #expect(result.dataLocalURL.path == rig.file.path && promise.progress.fractionCompleted == 1)
            }
            _ = try await elsewhere.value
            // The same URL as data at once.
            let data = try await inMemory.value
            #expect(data.responseData == Self.content)
            #expect(rig.server.requestCount == 3 && rig.saved == Self.content)
            #expect(rig.folder.entries == ["a.bin", "b.bin"])
        }
    }

    @Test("each caller of a shared download has its own validators, regardless of who started it", arguments: [true, false])
    func ownValidators(rejectsFirst: Bool) async throws {
        let gate = TestGate(), handler = CountingHandler(.useBothCompletion)
        try await withDownloads(of: Self.server) {
            await gate.wait()
            return $1
        } configure: {
            $0.duplicatedHandler = handler
        } _: { rig in
            func start(accepts: Bool) -> DownloadPromise {
                rig.ness.get("a").validate { _ in if !accepts { throw CocoaError(.coderInvalidValue) } }
                    .downloadRequest(forSavedLocation: rig.file)
            }
            let first = start(accepts: !rejectsFirst)
            #expect(await rig.server.waitUntil { $0.requestCount == 1 })
            let second = start(accepts: rejectsFirst)
            await handler.tally.wait(for: 1)
            gate.open()
            let (rejecting, accepting) = rejectsFirst ? (first, second) : (second, first)
            let error = await rejecting.nessError()
            #expect(error?.kind == .validation && error?.underlying is CocoaError)
            _ = try await accepting.value
            #expect(rig.saved == Self.content && rig.server.requestCount == (rejectsFirst ? 2 : 1))
        }
    }

    @Test("a download of another URL to the same place fails, and does not disturb the first")
    func otherURL() async throws {
        let gate = TestGate()
        try await withDownloads(of: Self.server) {
            await gate.wait()
            return $1
        } _: { rig in
            let first = rig.start("a")
            #expect(await rig.server.waitUntil { $0.requestCount == 1 })
            let error = await rig.start("b").nessError()
            #expect(error?.kind == .fileSystem && error?.context.reason.contains("another download") == true)
            gate.open()
            _ = try await first.value
            #expect(rig.saved == Self.content && rig.server.requestCount == 1)
            _ = try await rig.start("b").value
        }
    }

    @Test("equal POSTs to one place are saved one after the other; another body, or another method, fails") func posts() async throws {
        let gate = TestGate()
        try await withDownloads { _, request in
            await gate.wait()
            return .data(request.body)
        } _: { rig in
            func post(_ body: String, _ method: HTTPMethod = .post) -> DownloadPromise {
                rig.ness.httpRequest(method, withUrl: "a").set(body: Data(body.utf8)).downloadRequest(forSavedLocation: rig.file)
            }
            let first = post("1")
            #expect(await rig.server.waitUntil { $0.requestCount == 1 })
            let second = post("1")
            for other in [post("2"), post("1", .put)] { #expect(await other.nessError()?.kind == .fileSystem) }
            gate.open()
            _ = try await (first.value, second.value)
            #expect(rig.saved == Data("1".utf8) && rig.server.requestCount == 2)
        }
    }

    @Test("a paused download reserves its place against another URL until it is over", arguments: [true, false])
    func otherURLWhilePaused(isDropped: Bool) async throws {
        try await withDownloads(of: Self.server, stallsFirst) { rig in
            let first = rig.start("a")
            await rig.wait(for: 100_000, of: first)
            first.pause()
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            let error = await rig.start("b").nessError()
            #expect(error?.kind == .fileSystem && error?.context.reason.contains("another download") == true)
            if isDropped {
                first.drop()
            } else {
                first.resume()
                _ = try await first.value
                #expect(rig.ranges == [nil, "bytes=100000-299999"] && rig.saved == Self.content)
            }
            _ = try await rig.start("b").value
            #expect(rig.ranges.last == .some(nil) && rig.saved == Self.content)
        }
    }

    @Test("a download of another manager continues one that was just dropped")
    func afterDropElsewhere() async throws {
        try await withDownloads(of: Self.server, stallsFirst) { rig in
            let first = rig.start()
            await rig.wait(for: 100_000, of: first)
            first.drop()
            let other = Ness { $0.baseURL = rig.server.url }
            _ = try await other.httpRequest(withUrl: "a").downloadRequest(forSavedLocation: rig.file).value
            #expect(rig.saved == Self.content && rig.ranges == [nil, "bytes=100000-299999"])
        }
    }

    #if os(Linux) || os(macOS)
    @Test("a partial file that another process has locked is left alone")
    func otherProcess() async throws {
        guard let tool = ["/usr/bin/flock", "/bin/flock"].first(where: FileManager.default.isExecutableFile(atPath:)) else { return }
        try await withDownloads(of: Self.server) { rig in
            let end = Pipe()
            let arguments = [rig.partial.path, "sh", "-c", "echo ready >&2; read line"]
            let child = try Child(arguments, executable: URL(filePath: tool), input: end)
            await child.lines.wait { !$0.isEmpty }
            #expect(await rig.start().nessError()?.kind == .fileSystem)
            try end.fileHandleForWriting.close()
            _ = await child.end()
            _ = try await rig.start().value
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
        }
    }
    #endif

    // MARK: what lies between

    @Test("a redirect is followed for each range again")
    func redirects() async throws {
        try await withDownloads(of: Self.server) { request, reply in
            if request.path == "/a" { return .status(302, headers: ["Location": "/b"]) }
            return request.number == 2 ? reply.cut(after: 100_000) : reply
        } _: { rig in
            _ = try await rig.start(with: CounterRetryControl(maxRetryCount: 1)).value
            #expect(rig.server.requests.map(\.path) == ["/a", "/b", "/a", "/b"])
            #expect(rig.ranges == [nil, nil, "bytes=100000-299999", "bytes=100000-299999"])
            #expect(rig.saved == Self.content)
        }
    }

    @Test("a redirect decision that ignores a drop or a pause does not keep the file from the next download", arguments: [true, false])
    func deafDecision(isDropped: Bool) async throws {
        let asked = TestGate(), go = TestGate(), asks = Tally()
        try await withDownloads(of: Self.server, { $0.path == "/a" ? .status(302, headers: ["Location": "/b"]) : $1 }) { rig in
            func start() -> DownloadPromise {
                let decide: @Sendable (Redirection) async -> RedirectDecision = { _ in
                    guard asks.enter() == 0 else { return .follow }
                    asked.open()
                    await Task.detached { await go.wait() }.value
                    return .follow
                }
                return rig.ness.get("a").set(redirects: .decide(decide)).downloadRequest(forSavedLocation: rig.file)
            }
            let first = start()
            await asked.wait()
            if isDropped {
                first.drop()
                _ = try await start().value
            } else {
                first.pause()
                first.resume()
                _ = try await first.value
            }
            #expect(rig.saved == Self.content && !go.isOpen)
            go.open()
        }
    }

    @Test("after a 401 in the middle is handled, the download continues where it was", arguments: [1, 3])
    func refresh(segments: Int) async throws {
        let authentication = refreshing()
        try await withDownloads(of: Self.server) { request, reply in
            // The old credential is good for two requests; the second is cut.
            guard request.headers["authorization"] == "old" else { return reply }
            if request.number > 2 { return .status(401) }
            return segments == 1 || request.number == 2 ? reply.cut(after: 20_000) : reply
        } configure: {
            $0.authentication = authentication
        } _: { rig in
            _ = try await rig.start(segments: segments, with: CounterRetryControl(maxRetryCount: 5)).value
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
            #expect(rig.server.requests.contains { $0.headers["authorization"] == "new" && $0.headers["range"] != nil })
        }
    }

    @Test(
        "a loader that sends a finished download again, or another request, gets what the server then sends",
        arguments: [LoaderPlace.call, .attempt, .authenticated], ["/a", "/b"])
    func again(place: LoaderPlace, path: String) async throws {
        let loader = ClosureLoader.followUp { response in
            guard response.headers["X-Old"] != nil, let next = URL(string: path, relativeTo: response.url) else { return .accept }
            return path == "/a" ? .retry : .send(HTTPRequest(url: next.absoluteURL))
        }
        try await withDownloads { number, request in
            number == 1 ? .data(Data("old".utf8), headers: ["X-Old": "1"]) : .data(Data(request.path.utf8))
        } configure: {
            $0.insert(loader, at: place)
        } _: { rig in
            let result = try await rig.start().value
            #expect(result.message.headers["X-Old"] == nil)
            #expect(rig.saved == Data(path.utf8) && rig.server.requests.map(\.path) == ["/a", path])
        }
    }

    // MARK: names

    @Test(
        "a file in a folder is named by Content-Disposition (RFC 6266), or else by the URL; it never leaves the folder",
        arguments: [
            (nil, "report.pdf"), ("attachment", "report.pdf"), ("attachment; filename=\"a b.txt\"", "a b.txt"),
            ("inline; filename=plain.txt", "plain.txt"), ("attachment; filename*=UTF-8''na%C3%AFve.txt; filename=naive.txt", "naïve.txt"),
            ("attachment; filename=\"../../etc/passwd\"", "passwd"), ("attachment; filename=\"..\\\\..\\\\x.exe\"", "x.exe"),
            ("attachment; filename*=UTF-8''..%2F..%2Fx", "x"), ("attachment; filename=\"/abs/olute\"", "olute"),
            ("attachment; filename=\"\"", "report.pdf"), ("attachment; filename=\"..\"", "report.pdf"),
            ("attachment; filename=\"../\"", "report.pdf"), ("attachment; filename=\".hidden\"", "hidden"),
            ("attachment; filename*=UTF-8''a%00b%0Ac", "abc"), ("attachment; filename*=klingon''x; filename=y", "y"),
            ("path: /", "download"), ("path: ..%2F..%2Fx", "x"), ("path: %2e%2e", "download"), ("path: a%20b.txt?q=1", "a b.txt"),
            ("path: %2e%2e%5cx", "x"),
        ] as [(String?, String)])
    func names(source: String?, expected: String) async throws {
        let path = source?.hasPrefix("path: ") == true ? source.map { String($0.dropFirst(6)) } : nil
        try await withDownloads { _, _ in
            .text("x", headers: path == nil ? source.map { ["Content-Disposition": $0] } ?? [:] : [:])
        } _: { rig in
            let inner = rig.folder.appendingPathComponent("inner")
            try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
            let promise = rig.ness.httpRequest(withUrl: path ?? "some/path/report.pdf").downloadRequest(intoFolder: inner)
            #expect(try await promise.value.dataLocalURL.path == inner.appendingPathComponent(expected).path)
            #expect(inner.entries == [expected] && rig.folder.entries == ["inner"])
        }
    }

    @Test("if a name is taken, a number is added, and the existing file stays")
    func taken() async throws {
        let tally = Tally()
        try await withDownloads { _, _ in
            .text("\(tally.enter())", headers: ["Content-Disposition": "attachment; filename=a.tar.gz"])
        } _: { rig in
            try FileManager.default.createDirectory(
                at: rig.folder.appendingPathComponent("a.tar (3).gz"), withIntermediateDirectories: false)
            var names: [String] = []
            for _ in 0..<4 {
                let result = try await rig.ness.httpRequest(withUrl: "a").downloadRequest(intoFolder: rig.folder).value
                names.append(result.dataLocalURL.lastPathComponent)
            }
            #expect(names == ["a.tar.gz", "a.tar (2).gz", "a.tar (4).gz", "a.tar (5).gz"])
            #expect(try String(contentsOf: rig.folder.appendingPathComponent("a.tar.gz"), encoding: .utf8) == "0")
            #expect(rig.folder.entries.count == 5)
        }
    }

    @Test("many simultaneous downloads of one name into one folder each get their own file")
    func manyIntoOneFolder() async throws {
        try await withDownloads { _, request in
            .text(request.path, headers: ["Content-Disposition": "attachment; filename=same"])
        } _: { rig in
            let promises = (0..<20).map { rig.ness.httpRequest(withUrl: "\($0)").downloadRequest(intoFolder: rig.folder) }
            var seen: Set<String> = []
            for (number, promise) in promises.enumerated() {
                let result = try await promise.value
                seen.insert(result.dataLocalURL.path)
                #expect(try String(contentsOf: result.dataLocalURL, encoding: .utf8) == "/\(number)")
            }
            #expect(seen.count == 20 && rig.folder.entries.count == 20)
        }
    }

    @Test(
        "validators and the choice of the destination see the fields of the whole file, even if a part does not repeat them",
        arguments: [1, 4])
    func keptFields(segments: Int) async throws {
        let server = FileServer(content: Self.content, headers: ["Content-Type": "application/pdf"])
        try await withDownloads(of: server) {
            let reply = $0.headers["If-Range"] == nil ? $1 : $1.withoutRepetition()
            return $0.number == 1 && segments == 1 ? reply.cut(after: 1_000) : reply
        } _: { rig in
            let folder = rig.folder, builder = rig.ness.get("a").validate(contentTypes: ["application/pdf"])
            _ = try await builder.set(retry: CounterRetryControl(maxRetryCount: 1)).downloadRequest(intoFolder: folder, segments: segments)
            { folder.appending(path: $0.headers["Content-Type"] == "application/pdf" ? "7.pdf" : "7.bin") }.value
            #expect(folder.entries == ["7.pdf"] && rig.server.requestCount == (segments == 1 ? 2 : 5))
        }
    }

    @Test(
        "a name from the server is kept if a later range has none; an edited record cannot lead out of the folder",
        arguments: [false, true])
    func keptName(isForged: Bool) async throws {
        try await withDownloads(of: Self.server) {
            $0.number == 1 ? $1.adding("attachment; filename=told.bin", for: "Content-Disposition").cut(after: 1_000) : $1
        } _: { rig in
            let builder = rig.ness.httpRequest(withUrl: "a")
            #expect(await builder.downloadRequest(intoFolder: rig.folder).nessError()?.kind == .truncated)
            let record = try #require(rig.folder.entries.first { $0.hasSuffix(".json") })
            #expect(record.hasPrefix("."))
            if isForged {
                let place = rig.folder.appendingPathComponent(record), text = try String(contentsOf: place, encoding: .utf8)
                try Data(text.replacingOccurrences(of: "told.bin", with: "..\\/..\\/out.bin").utf8).write(to: place)
            }
            let name = isForged ? "out.bin" : "told.bin"
            #expect(try await builder.downloadRequest(intoFolder: rig.folder).value.dataLocalURL.lastPathComponent == name)
            #expect(rig.ranges == [nil, "bytes=1000-299999"] && rig.folder.entries == [name])
        }
    }
}
