import Foundation
import NessHTTP
import TestSupport
import Testing

@testable import NessTesting

/// Files that a server keeps compressed, and sends so whatever is asked for.
@Suite(.inTurn) struct DownloadCodingTests {
    private static let packed = CompressedBodies.gzipSquares
    private static let content = Data(CompressedBodies.squares.utf8)
    private static let server = FileServer(content: packed, headers: ["Content-Encoding": "gzip"])

    @Test(
        "a compressed file is saved decompressed on demand, even with segments or in chunks", arguments: [1, 4], [true, false])
    func unpacked(segments: Int, isChunked: Bool) async throws {
        try await withDownloads(of: Self.server, { isChunked ? $1.inChunks() : $1 }) { rig in
            let result = try await rig.start(segments: segments, coding: .unpacked).value
            #expect(rig.saved == Self.content && result.dataLocalURL == rig.file)
            #expect(rig.ranges == [nil] && rig.folder.entries == ["a.bin"])
            let again = try await rig.ness.get("a").downloadRequest(intoFolder: rig.folder, coding: .unpacked).value
            #expect(FileManager.default.contents(atPath: again.dataLocalURL.path) == Self.content)
        }
    }

    @Test(
        "a request that must not be repeated is sent once, regardless of the response", arguments: [HTTPMethod.get, .post],
        [DownloadCoding.refused, .unpacked])
    func once(method: HTTPMethod, coding: DownloadCoding) async throws {
        for headers in [["Content-Encoding": "gzip"], ["Content-Range": "bytes 5-9/10"], ["Content-Range": "nonsense"]] as [HTTPHeaders] {
            try await withDownloads { _, _ in
                .data(Data("0123456789".utf8), status: 206, headers: headers)
            } _: { rig in
                let request = rig.ness.httpRequest(method, withUrl: "a").set(isIdempotent: false)
                let error = await request.downloadRequest(forSavedLocation: rig.file, segments: 4, coding: coding).nessError()
                #expect(error?.kind == .malformedResponse)
                #expect(rig.ranges == [nil] && rig.folder.entries == [])
            }
        }
    }

    @Test("a download that decompresses starts over after an interruption, because compressed parts cannot be joined")
    func unpackedAfterABreak() async throws {
        try await withDownloads(of: Self.server, { $0.number == 1 ? $1.cut(after: 300) : $1 }) { rig in
            _ = try await rig.start(coding: .unpacked, with: CounterRetryControl(maxRetryCount: 1)).value
            #expect(rig.saved == Self.content && rig.ranges == [nil, nil])
            #expect(rig.folder.entries == ["a.bin"])
        }
    }

    @Test("a partial file from a plain response is not continued with a compressed one")
    func unpackedAfterAPlainPart() async throws {
        let plain = FileServer(content: Self.content)
        try await withDownloads { number, request in
            number == 1 ? plain.reply(to: request).cut(after: 300) : Self.server.reply(to: request)
        } _: { rig in
            #expect(await rig.start().nessError()?.kind == .truncated)
            #expect(rig.folder.entries == ["a.bin.ness-part", "a.bin.ness-part.json"])
            _ = try await rig.start(coding: .unpacked).value
            #expect(rig.saved == Self.content && rig.folder.entries == ["a.bin"])
        }
    }

    @Test(
        "a partial file that is compressed is not continued as a plain one, even if the part does not repeat the coding",
        .enabled(if: Engine.isCurl), arguments: [DownloadCoding.asStored, .refused, .unpacked])
    func afterAStoredPart(coding: DownloadCoding) async throws {
        try await withDownloads(of: Self.server, { $0.number == 1 ? $1.cut(after: 300) : $1.withoutRepetition() }) { rig in
            #expect(await rig.start(coding: .asStored).nessError()?.kind == .truncated)
            let promise = rig.start(coding: coding)
            if coding == .refused {
                #expect(await promise.nessError()?.kind == .malformedResponse)
            } else {
                let isStored = coding == .asStored, message = try await promise.value.message
                #expect(rig.saved == (isStored ? Self.packed : Self.content))
                #expect(message.headers["Content-Encoding"] == (isStored ? "gzip" : nil))
            }
        }
    }

    @Test("a plain file is saved and continued as usual, even if decompression is requested")
    func plain() async throws {
        try await withDownloads(of: FileServer(content: Self.content), { $0.number == 1 ? $1.cut(after: 300) : $1 }) { rig in
            _ = try await rig.start(coding: .unpacked, with: CounterRetryControl(maxRetryCount: 1)).value
            #expect(rig.saved == Self.content && rig.ranges == [nil, "bytes=300-\(Self.content.count - 1)"])
        }
    }

    @Test("a plain file that a loader gets in a second try, after a compressed one, is continued") func plainAfterPacked() async throws {
        let plain = FileServer(content: Self.content)
        let loader = ClosureLoader.loader { request, next in
            do { return try await next(request) } catch { return try await next(request) }
        }
        try await withDownloads { number, request in
            let reply = (number == 1 ? Self.server : plain).reply(to: request)
            return number <= 2 ? reply.cut(after: 300) : reply
        } configure: {
            $0.insert(loader, at: .exchange)
        } _: { rig in
            _ = try await rig.start(coding: .unpacked, with: CounterRetryControl(maxRetryCount: 1)).value
            #expect(rig.saved == Self.content && rig.ranges == [nil, nil, "bytes=300-\(Self.content.count - 1)"])
        }
    }

    @Test("a compressed file without a detectable end is rejected") func withoutLength() async throws {
        try await stopping(TestServer.start(try #require(Misbehavior.named("gzip-no-length")))) { server in
            try await withFolder { folder in
                let promise = Ness().get(server.url).downloadRequest(forSavedLocation: folder.appending(path: "a"), coding: .unpacked)
                #expect(await promise.nessError()?.kind == .malformedResponse)
                #expect(folder.entries.isEmpty)
            }
        }
    }

    @Test(
        "if the transport decompresses every body, a request for the compressed file is rejected before it is sent",
        .enabled(if: !Engine.isCurl))
    func asStoredOverURLSession() async throws {
        try await withDownloads(of: Self.server) { rig in
            #expect(await rig.start(coding: .asStored).nessError()?.kind == .invalidRequest)
            #expect(rig.server.requestCount == 0 && rig.folder.entries.isEmpty)
        }
    }

    private static let decided = RedirectPolicy.decide { .send(HTTPRequest(url: $0.request.url)) }

    /// Redirects `/a` to `/b`, which has the compressed file. The first reply from there ends early.
    private static func redirecting(_ request: ReceivedRequest) -> Reply {
        if request.path == "/a" { return .status(302, headers: ["Location": "/b"]) }
        return request.number == 2 ? server.reply(to: request).cut(after: 300) : server.reply(to: request)
    }

    @Test("a request that a redirect decision makes asks for the bytes as the download does", .enabled(if: Engine.isCurl))
    func decidedRequest() async throws {
        try await withDownloads { _, request in
            Self.redirecting(request)
        } _: { rig in
            _ = try await rig.ness.get("a").set(redirects: Self.decided).set(retry: CounterRetryControl(maxRetryCount: 1))
                .downloadRequest(forSavedLocation: rig.file, coding: .asStored).value
            #expect(rig.saved == Self.packed && rig.ranges == [nil, nil, "bytes=300-510", "bytes=300-510"])
            #expect(rig.server.requests.allSatisfy { $0.headers["accept-encoding"] == "identity" })
        }
    }

    @Test("a file that a loader's request has decompressed is not saved as the compressed one", .enabled(if: Engine.isCurl))
    func loadersRequest() async throws {
        let loader = ClosureLoader.followUp { response in
            response.statusCode == 302 ? .send(HTTPRequest(url: response.redirectURL ?? response.url)) : .accept
        }
        try await withDownloads { _, request in
            request.path == "/a" ? .status(302, headers: ["Location": "/b"]) : Self.server.reply(to: request)
        } configure: {
            $0.insert(loader, at: .exchange)
        } _: { rig in
            #expect(await rig.start(coding: .asStored).nessError()?.kind == .malformedResponse)
            #expect(rig.folder.entries.isEmpty)
        }
    }

    /// A transport that unpacks nothing for a request that wants it so, and breaks after the first bytes of the first exchange.
    private struct Keeping: Transport {
        let requests = Log<HTTPRequest>()
        var keepsContentCoding: Bool { true }

        func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
            requests.add(request)
            #expect(request[KeepsContentCoding.self])
            let packed = DownloadCodingTests.packed, size = packed.count
            let start = request.headers["Range"] == nil ? 0 : 300
            var headers: HTTPHeaders = ["ETag": "\"v1\"", "Content-Encoding": "gzip", "Content-Length": "\(size - start)"]
            if start > 0 { headers["Content-Range"] = "bytes \(start)-\(size - 1)/\(size)" }
            try await receive(.head(statusCode: start > 0 ? 206 : 200, headers: headers))
            try await receive(.body(start > 0 ? packed.dropFirst(start) : packed.prefix(300)))
            if start == 0 { throw TransportError.connectionLost }
        }
    }

    @Test("a transport that keeps the content coding saves the compressed file, and continues it", arguments: [nil, "gzip"])
    func asStored(accepted: String?) async throws {
        let transport = Keeping()
        try await withFolder { folder in
            let ness = Ness { $0.transport = transport }, file = folder.appendingPathComponent("a.gz")
            let headers = accepted.map { ["Accept-Encoding": $0] as HTTPHeaders } ?? [:]
            let result = try await ness.httpRequest(withUrl: "https://mock.test/a").set(headers: headers)
                .set(retry: CounterRetryControl(maxRetryCount: 1)).downloadRequest(forSavedLocation: file, coding: .asStored).value
            #expect(try Data(contentsOf: file) == Self.packed)
            #expect(result.message.headers["Content-Encoding"] == "gzip")
            #expect(transport.requests.entries.map { $0.headers["Range"] } == [nil, "bytes=300-510"])
            #expect(transport.requests.entries.allSatisfy { $0.headers["Accept-Encoding"] == accepted ?? "identity" })
            #expect(folder.entries == ["a.gz"])
        }
    }
}
