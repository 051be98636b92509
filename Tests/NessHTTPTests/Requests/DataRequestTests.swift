import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn) struct DataRequestTests {
    @Test(
        "every method that allows a body sends it",
        arguments: [HTTPMethod.post, .put, .patch, .delete, .options, .custom("PROPFIND")])
    func methodsWithBody(method: HTTPMethod) async throws {
        try await withServer { server, ness in
            _ = try await ness.httpRequest(method, withUrl: "x").set(body: Data("abc".utf8)).dataRequest().value
            let request = try #require(server.requests.first)
            #expect(request.method == method)
            #expect(request.bodyText == "abc")
            #expect(request.headers["content-length"] == "3" && request.headers["content-type"] == "application/octet-stream")
        }
    }

    @Test("a builder is a value that can be sent many times")
    func builderIsValue() async throws {
        try await withServer { server, ness in
            let first = ness.httpRequest(.post, withUrl: "one").set(headers: ["X": "1"]).set(stringBody: "1")
            let second = first.set(headers: ["X": "2"]).set(urlParameters: ["q": 2]).set(stringBody: "2").set(timeout: .seconds(500))
            for _ in 0..<3 { _ = try await first.dataRequest().value }
            _ = try await second.dataRequest().value
            let seen = server.requests.map { "\($0.target) \($0.headers["X"] ?? "") \($0.bodyText)" }
            #expect(seen == ["/one 1 1", "/one 1 1", "/one 1 1", "/one?q=2 2 2"])
            #expect(try first.build().timeout == .seconds(60))
            #expect(try second.build().timeout == .seconds(500))
        }
    }

    @Test(
        "data, upload and download requests start when they are made, each with its own retries, even if nobody keeps them")
    func unkeptOfEachKind() async throws {
        try await withFolder { folder in
            let source = folder.appendingPathComponent("source"), target = folder.appendingPathComponent("target")
            try Data("file".utf8).write(to: source)
            let seen = Lock<Set<String>>([]), control = CounterRetryControl(maxRetryCount: 1)
            try await withServer { request in
                .text(request.path, status: seen.withLock { $0.insert(request.path).inserted } ? 503 : 200)
            } _: { server, ness in
                ness.httpRequest(withUrl: "data").dataRequest(with: control)
                #expect(await server.waitUntil { $0.requestCount == 2 })
                ness.httpRequest(.put, withUrl: "upload").uploadRequest(forFileLocation: source, with: control)
                #expect(await server.waitUntil { $0.requestCount == 4 })
                let saved = TestGate()
                ness.httpRequest(withUrl: "download").downloadRequest(forSavedLocation: target, with: control).then { _ in saved.open() }
                await saved.wait()
                #expect(server.requests.map(\.target) == ["/data", "/data", "/upload", "/upload", "/download", "/download"])
                #expect(server.requests.map(\.bodyText) == ["", "", "file", "file", "", ""])
            }
            #expect(try String(contentsOf: target, encoding: .utf8) == "/download")
        }
    }
}
