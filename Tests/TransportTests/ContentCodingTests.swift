import Foundation
import TestSupport
import Testing

@testable import NessHTTP
@testable import NessTesting

/// The header fields of a response whose content coding was removed.
@Suite(.inTurn) struct ContentCodingTests {
    /// Serves a text in gzip, and `aa` in a coding of its own to a client that asks for it.
    private func serve(
        _ headers: HTTPHeaders = [:], configure: (inout Ness.Configuration) -> Void = { _ in },
        _ body: (TestServer, Ness) async throws -> Void
    ) async throws {
        let answer: TestServer.Handler = { request in
            if request.headers["Accept-Encoding"] == "own" { return .data(Data("aa".utf8), headers: ["Content-Encoding": "own"]) }
            if request.headers["If-None-Match"] == "\"1\"" { return .status(304, headers: headers) }
            return .data(CompressedBodies.gzipHello, headers: headers.merging(["Content-Encoding": "gzip", "X-Other": "stays"]))
        }
        try await withServer(answer, configure: configure, body)
    }

    /// A request that gets the text in gzip from every transport.
    private func builder(_ ness: Ness, _ method: HTTPMethod = .get) -> RequestBuilder {
        ness.httpRequest(method, withUrl: "a").set(headers: ["Accept-Encoding": "gzip"])
    }

    private func check(_ response: HTTPResponse, _ comment: Comment) {
        #expect(response.headers["Content-Encoding"] == nil && response.headers["Content-Length"] == nil, comment)
        #expect(response.headers["X-Other"] == "stays", comment)
        #expect(response.receivedHeaders["Content-Encoding"] == "gzip", comment)
        #expect(response.receivedHeaders["Content-Length"] == "\(CompressedBodies.gzipHello.count)", comment)
    }

    @Test("a decoded response has no Content-Encoding and no length of the encoded content, wherever it is seen")
    func decoded() async throws {
        let heads = Log<HTTPResponse>()
        try await serve { _, ness in
            let message = try await builder(ness).onHead { heads.add($0) }.dataRequest().value.message
            #expect(message.text == "hello")
            check(message, "data")
            check(try #require(heads.entries.first), "onHead")
            let stream = try await builder(ness).streamRequest().value
            check(stream.message, "stream")
            var text = Data()
            for try await chunk in stream.chunks { text += chunk }
            #expect(text == Data("hello".utf8))
        }
    }

    @Test(
        "zero bytes behind a gzip body are ignored, but other bytes fail the request, and so do zero bytes without end",
        .enabled(if: Engine.isCurl), arguments: ["", "\0", "\0\0\n", "x"])
    func padded(end: String) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", zeros = Data(count: 5_000)
        let steps: [ConnectionStep] = [.receiveRequest, .send(head), .sendData(CompressedBodies.gzipHello), .sendData(zeros)]
        try await serving(script: { _ in steps + (end.isEmpty ? [.sendUntilClosed(zeros)] : [.send(end), .close]) }) { server in
            let ness = Ness { $0.maximumResponseBytes = 1_000 }
            if end == "\0" {
                let text = try await ness.get(server.url).text()
                #expect(text == "hello")
            } else {
                #expect(await ness.get(server.url).dataRequest().nessError()?.kind == .malformedResponse)
            }
        }
    }

    @Test(
        "a response whose content is not decoded keeps its fields: a HEAD, a requested unknown coding, `identity`",
        .toBeDecidedOnAMac("what URLSession does with a coding that it does not know"))
    func kept() async throws {
        try await serve { _, ness in
            let head = try await builder(ness, .head).dataRequest().value.message
            #expect(head.headers["Content-Encoding"] == "gzip" && head.headers == head.receivedHeaders)
            // libcurl, as URLSession on Linux uses it, refuses a coding that it does not know.
            if Engine.isURLSessionOnLinux { return }
            let own = try await ness.httpRequest(withUrl: "a").set(headers: ["Accept-Encoding": "own"]).dataRequest().value.message
            #expect(own.headers["Content-Encoding"] == "own" && own.headers["Content-Length"] == "2" && own.text == "aa")
        }
    }

    @Test(
        "a response in an unknown coding that was not requested fails before its body, even if its lines end with bare line feeds",
        .enabled(if: Engine.isCurl), arguments: ["\r\n", "\n"])
    func unknown(lineEnd: String) async throws {
        let head = ["HTTP/1.1 200 OK", "Content-Encoding: own", "Content-Length: 5", "", ""].joined(separator: lineEnd)
        try await serving(script: { _ in [.receiveRequest, .send(head + "hello"), .close] }) { server in
            let transport = DefaultTransport.makeForLoopback(), events = Log<String>()
            let error = await #expect(throws: TransportError.self) {
                try await transport.send(HTTPRequest(url: server.url)) { events.add($0.text) }
            }
            #expect(error?.kind == .malformedResponse && !events.entries.contains("hello"))
        }
    }

    static let noCodings = ["none", "UTF-8", "utf8", "iso-8859-1", "null", "binary", "8bit", "aws-chunked", "identity, none", ""]

    @Test("a Content-Encoding that names no coding counts as identity", arguments: noCodings)
    func meaningless(value: String) async throws {
        for usesURLSession in [false, true] {
            let answer: TestServer.Handler = { request in
                if request.target == "/gzip" { return .data(CompressedBodies.gzipHello, headers: ["Content-Encoding": "\(value), gzip"]) }
                return .data(Data("hello".utf8), headers: ["Content-Encoding": value, "Cache-Control": "max-age=60"])
            }
            try await withServer(answer, configure: { if usesURLSession { $0.transport = URLSessionTransport() } }) { server, ness in
                // URLSession on Linux leaves the field to libcurl, which knows none of the others.
                if !ness.configuration.transport.keepsContentCoding, URLSessionSystem.current == .linux, !value.isEmpty,
                    !value.contains("none")
                {
                    #expect(await ness.get("plain").dataRequest().nessError()?.kind == .malformedResponse)
                    return
                }
                let response = try await ness.get("plain").response()
                #expect(response.text == "hello" && response.headers["Content-Encoding"] == value)
                try await withFolder { folder in
                    let file = folder.appending(path: "a")
                    _ = try await ness.get("plain").downloadRequest(forSavedLocation: file).value
                    #expect(try Data(contentsOf: file) == Data("hello".utf8))
                }
                // The other engines cannot tell whether a compressed body is complete, or decide themselves.
                if Engine.isCurl, !usesURLSession { #expect(try await ness.get("gzip").text() == "hello") }
            }
        }
    }

    @Test("a stored response is decoded, and so are its fields; its validator and ranges belong to the encoded content")
    func stored() async throws {
        // URLSession on Linux takes no encoded content unasked, and what was asked for is not stored.
        if Engine.isURLSessionOnLinux { return }
        let headers: HTTPHeaders = ["Cache-Control": "max-age=1000", "ETag": "\"1\""]
        try await serve(headers, configure: { $0.cache = HTTPCache(memoryLimit: 1 << 20) }) { server, ness in
            let builder = ness.httpRequest(withUrl: "a")
            for source in [HTTPResponse.Source.network, .cache] {
                let message = try await builder.dataRequest().value.message
                #expect(message.source == source && message.text == "hello" && message.headers["Content-Encoding"] == nil)
                #expect(message.receivedHeaders["Content-Encoding"] == "gzip")
            }
            let revalidated = try await builder.set(headers: ["Cache-Control": "no-cache"]).dataRequest().value.message
            #expect(revalidated.source == .revalidated && revalidated.text == "hello" && revalidated.headers["Content-Encoding"] == nil)
            let count = server.requestCount
            _ = try await builder.set(headers: ["Range": "bytes=0-1"]).dataRequest().value
            #expect(server.requestCount == count + 1)
        }
    }

    @Test("`KeepsContentCoding` fails over a transport that decodes every body, and nothing is sent")
    func keepsContentCodingOverOther() async throws {
        try await serve(configure: { $0.transport = URLSessionTransport() }) { server, ness in
            let error = await ness.get("a").set(option: KeepsContentCoding.self, to: true).dataRequest().nessError()
            #expect(error?.kind == .invalidRequest && error?.mayHaveReachedServer == false)
            #expect(server.connectionCount == 0)
        }
    }

    @Test("`KeepsContentCoding` keeps content and fields, is not stored, and adds no Accept-Encoding")
    func keepsContentCoding() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=1000"]
        try await serve(headers, configure: { $0.cache = HTTPCache(memoryLimit: 1 << 20) }) { server, ness in
            guard ness.configuration.transport.keepsContentCoding else { return }
            for _ in 0..<2 {
                let message = try await ness.get("a").set(option: KeepsContentCoding.self, to: true).response()
                #expect(message.body == CompressedBodies.gzipHello && message.source == .network)
                #expect(message.headers["Content-Encoding"] == "gzip")
                #expect(message.headers["Content-Length"] == "\(CompressedBodies.gzipHello.count)")
            }
            #expect(server.requests.allSatisfy { $0.headers["Accept-Encoding"] == nil })
        }
    }
}
