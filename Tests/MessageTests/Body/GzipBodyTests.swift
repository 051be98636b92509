#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Request bodies that are compressed, over real sockets.
@Suite(.inTurn) struct GzipBodyTests {
    private func unpacked(_ data: Data) throws -> Data {
        let decoder = try #require(ContentDecoder(["gzip"]))
        var decoded = Data()
        Array(data).withUnsafeBufferPointer { decoder.add($0) }
        while decoder.hasRest { try decoder.decode(upTo: 1 << 16) { decoded.append($0) } }
        try decoder.finish()
        return decoded
    }

    @Test("bytes of any size and kind survive compression unchanged, in pieces of any size", arguments: [0, 1, 1_000, 32 << 10, 300_001])
    func roundTrip(count: Int) throws {
        var generator = SeededGenerator(seed: UInt64(count))
        let noise = Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
        for content in [noise, Data(repeating: 7, count: count), patternedData(count)] {
            #expect(try unpacked(try GzipEncoder.encode(content)) == content)
            for size in [1 + count / 7, 64 << 10] {
                let encoder = try GzipEncoder()
                var bytes = Data()
                // Slices, whose indices do not start at 0.
                for start in stride(from: 0, to: count, by: size) {
                    bytes += try encoder.encode(content[start..<min(count, start + size)], ends: false)
                }
                bytes += try encoder.encode(Data(), ends: true)
                #expect(try unpacked(bytes) == content)
            }
        }
    }

    @Test("a body in memory is sent compressed, with its length and Content-Encoding, in any order of setters")
    func bytes() async throws {
        try await withServer { server, ness in
            let text = String(repeating: "cats and dogs ", count: 500), post = ness.post("a")
            let builders = [
                post.set(stringBody: text).set(gzipsBody: true), post.set(gzipsBody: true).set(stringBody: text),
                post.set(gzipsBody: true).set(header: "content-encoding", to: "gzip").set(stringBody: text),
            ]
            for builder in builders { _ = try await builder.dataRequest().value }
            for request in server.requests {
                #expect(request.headers.values(for: "Content-Encoding") == ["gzip"] && request.body.count < 500)
                #expect(request.headers["Content-Length"] == "\(request.body.count)")
                #expect(request.headers["Content-Type"] == "text/plain; charset=utf-8")
                #expect(try unpacked(request.body) == Data(text.utf8))
            }
            #expect(server.requests.count == 3)
            _ = try await post.set(stringBody: "").set(gzipsBody: true).dataRequest().value
            _ = try await post.set(stringBody: text).set(gzipsBody: true).set(gzipsBody: false).dataRequest().value
            _ = try await ness.get("a").set(gzipsBody: true).dataRequest().value
            #expect(try unpacked(server.requests[3].body) == Data())
            #expect(server.requests[4...].map { $0.headers["Content-Encoding"] } == [nil, nil])
        }
    }

    @Test(
        "a file, a sequence and a form are compressed while they are sent, or first if their length has to be sent",
        arguments: [false, true])
    func whileSent(collects: Bool) async throws {
        try await withFolder { folder in
            let content = patternedData(700_000), file = folder.appending(path: "film")
            try content.write(to: file)
            try await withServer { server, ness in
                let put = ness.put("a").set(gzipsBody: true).set(collectsBody: collects)
                _ = try await put.uploadRequest(forFileLocation: file).value
                _ = try await put.set(streamBody: Pieces(content.pieces(of: 70_001))).dataRequest().value
                _ = try await put.set(streamBody: Pieces([]), length: 0).dataRequest().value
                _ = try await put.set(multipart: { form in
                    form.append(file: file, named: "a")
                    form.append(named: "b") { HTTPBody(Data("made".utf8)) }
                }).dataRequest().value
                let requests = server.requests
                #expect(requests.count == 4)
                for (index, request) in requests.enumerated() {
                    #expect(request.headers["Content-Encoding"] == "gzip")
                    // The sequence that is announced to be empty is compressed before it is sent.
                    if index != 2, !Engine.isURLSessionOnLinux || collects {
                        #expect(request.isChunked == !collects && (request.headers["Content-Length"] != nil) == collects)
                    }
                }
                #expect(try unpacked(requests[0].body) == content && unpacked(requests[1].body) == content)
                #expect(try unpacked(requests[2].body) == Data())
                let form = try unpacked(requests[3].body)
                #expect(form.range(of: content) != nil && form.range(of: Data("made".utf8)) != nil)
            }
        }
    }

    @Test("a compressed file is sent again for a retry; a compressed sequence that can be sent once is not")
    func retries() async throws {
        try await withFolder { folder in
            let content = patternedData(100_000), file = folder.appending(path: "film")
            try content.write(to: file)
            try await withServer({ _ in .status(503) }) { server, ness in
                let put = ness.put("a").set(gzipsBody: true).set(retry: CounterRetryControl(maxRetryCount: 1))
                _ = try await put.set(body: HTTPBody(file: file)).dataRequest().value
                #expect(try server.requests.map { try unpacked($0.body) } == [content, content])
                let once = put.set(streamBody: Pieces([content]))
                _ = try await once.dataRequest().value
                #expect(server.requests.count == 3)
                let error = await once.dataRequest().nessError()
                #expect(error?.kind == .invalidRequest && error?.context.reason.contains("only once") == true)
                #expect(server.requests.count == 3)
            }
        }
    }

    @Test("a missing file and a failing sequence end a compressed request with the original error", arguments: [false, true])
    func failures(collects: Bool) async throws {
        try await withServer { server, ness in
            let put = ness.put("a").set(gzipsBody: true).set(collectsBody: collects)
            let missing = await put.set(body: HTTPBody(file: URL(filePath: "/no/such/film"))).dataRequest().nessError()
            #expect(missing?.kind == .invalidRequest && missing?.context.reason.contains("film") == true)
            let failing = Pieces { number in
                if number == 1 { throw Rejected(name: "no more") }
                return patternedData(300_000)
            }
            let failed = await put.set(streamBody: failing).dataRequest().nessError()
            #expect(failed?.kind == .invalidRequest && failed?.underlying as? Rejected == Rejected(name: "no more"))
            #expect(server.requests.isEmpty)
        }
    }

    @Test("a Content-Encoding that the caller set, or a process without zlib, is an error before anything is sent")
    func refused() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let post = rig.ness.post("x").set(stringBody: "a").set(gzipsBody: true).set(header: "Content-Encoding", to: "br")
        #expect(await post.dataRequest().nessError()?.kind == .invalidRequest)
        #expect(throws: InvalidRequest.self) { try GzipEncoder(nil) }
        let unavailable = Result<HTTPBody?, any Error> {
            _ = try GzipEncoder(nil)
            return nil
        }
        let without = await rig.ness.post("x").set(body: unavailable).dataRequest().nessError()
        #expect(without?.kind == .invalidRequest && without?.context.reason.contains("zlib") == true)
        #expect(rig.mock.requests.isEmpty)
        let late = try HTTPBody(file: URL(filePath: "/no/such/film")).gzipped()
        #expect(late.length == nil && late.data == nil)
        #expect(throws: TransportError.self) { try late.makeReader().read(upTo: 1) }
    }

    @Test("a loader can compress every body of a manager; a part of a form can be compressed; codings add up")
    func elsewhere() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "film")
            try Data("film".utf8).write(to: file)
            try await withServer(configure: { $0.loaders = [.modifyRequest { $0.body = try $0.body?.gzipped() }] }) { server, ness in
                _ = try await ness.post("a").set(stringBody: "text").dataRequest().value
                _ = try await ness.post("a").set(body: try HTTPBody(Data("text".utf8)).gzipped()).dataRequest().value
                #expect(server.requests.map { $0.headers["Content-Encoding"] } == ["gzip", "gzip, gzip"])
                #expect(try unpacked(server.requests[0].body) == Data("text".utf8))
                #expect(try unpacked(try unpacked(server.requests[1].body)) == Data("text".utf8))
            }
            try await withServer { server, ness in
                _ = try await ness.post("a").set(multipart: { form in
                    form.append(named: "f", fileName: "f") { try HTTPBody(file: file).gzipped() }
                }).dataRequest().value
                let body = try #require(server.requests.first?.body)
                #expect(body.range(of: Data("Content-Encoding: gzip\r\n".utf8)) != nil && body.range(of: Data("film".utf8)) == nil)
            }
        }
    }

    @Test("a recording leaves a compressed body out, because a secret in it can't be found")
    func recording() async throws {
        let recorder = RecordingTransport(wrapping: Rig(onUnmatched: .reply(.status(200))).mock)
        let post = Ness { $0.transport = recorder }.post("https://mock.test/x").set(jsonBody: ["password": "s3cret"])
        _ = try await post.set(gzipsBody: true).dataRequest().value
        let body = try #require(recorder.archive.entries.first?.request.body)
        #expect(body.text == nil && body.data == nil)
    }
}
#endif
