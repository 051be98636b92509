import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn) struct DataRequestTests {
    @Test("a GET arrives as written")
    func get() async throws {
        try await withServer { server, ness in
            let result = try await ness.httpRequest(.get, withUrl: "a%20b/c?x=1")
                .set(urlParameters: ["page": "1", "q": "cute cats", "e": "é&=+"])
                .dataRequest().value
            let request = try #require(server.requests.first)
            #expect(request.method == .get)
            #expect(request.target == "/a%20b/c?x=1&page=1&q=cute%20cats&e=%C3%A9%26%3D%2B")
            #expect(request.body.isEmpty)
            #expect(request.headers["content-length"] == nil)
            #expect(request.headers["content-type"] == nil)
            #expect(result.message.statusCode == 200)
            #expect(result.responseData == Data("ok".utf8))
            #expect(result.message.url.absoluteString == "\(server.url)\(request.target)")
        }
    }

    @Test(
        "every method arrives, but CONNECT, which is not sent",
        arguments: [
            HTTPMethod.get, .head, .post, .put, .patch, .delete, .options, .trace, .custom("PURGE"), .custom("M-SEARCH"), .custom("purge"),
        ])
    func methods(method: HTTPMethod) async throws {
        try await withServer { server, ness in
            let result = try await ness.httpRequest(method, withUrl: "x").dataRequest().value
            #expect(result.message.statusCode == 200)
            #expect(server.requests.map(\.method) == [method])
            #expect(server.requests.first?.body.isEmpty == true)
            #expect(server.requests.first?.isChunked == false)
            #expect(await ness.httpRequest(.connect, withUrl: "x").dataRequest().nessError()?.kind == .invalidRequest)
        }
    }

    @Test("a method in another case is not repaired")
    func methodCase() async throws {
        try await withServer { server, ness in
            do {
                _ = try await ness.httpRequest(.custom("get"), withUrl: "x").dataRequest().value
                #expect(server.requests.map(\.method) == [.custom("get")])
            } catch let error as NessError {
                #expect(error.kind == .invalidRequest)
            }
        }
    }

    @Test(
        "every method that allows a body sends it",
        arguments: [HTTPMethod.post, .put, .patch, .delete, .options, .custom("PROPFIND")])
    func methodsWithBody(method: HTTPMethod) async throws {
        try await withServer { server, ness in
            _ = try await ness.httpRequest(method, withUrl: "x").set(body: Data("abc".utf8)).dataRequest().value
            let request = try #require(server.requests.first)
            #expect(request.method == method)
            #expect(request.bodyText == "abc")
            #expect(request.headers["content-length"] == "3")
        }
    }

    @Test(
        "several values of a header arrive in order, and an empty one arrives",
        .toBeDecidedOnAMac("whether URLSession sends an empty field, and how it sends text that is not ASCII"))
    func headers() async throws {
        try await withServer { server, ness in
            _ = try await ness.httpRequest(withUrl: "x")
                .set(headers: ["X-Dup": "b", "X-One": "1", "Accept": "text/html;q=0.5"])
                .add(headerValue: "a", forKey: "X-Dup")
                .set(.appendAndKeepPreviousValue, headers: ["X-One": "2", "X-Two": "tab\tand é", "X-Empty": ""])
                .set(.appendAndOverwriteSameKey, headers: ["accept": "*/*"])
                .dataRequest().value
            let headers = try #require(server.requests.first?.headers)
            #expect(headers.members(of: "x-dup") == ["b", "a"])
            #expect(headers.values(for: "X-One") == ["1"])
            #expect(headers.values(for: "X-Two") == ["tab\tand é"])
            #expect(headers.values(for: "Accept") == ["*/*"] && headers.values(for: "X-Empty") == [""])
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

    @Test("200 concurrent requests each get their own response")
    func concurrent() async throws {
        try await withServer({ .text($0.target) }) { server, ness in
            let promises = (0..<200).map { ness.httpRequest(withUrl: "\($0)").dataRequest() }
            for (number, promise) in promises.enumerated() {
                let text = try await promise.value.message.text
                #expect(text == "/\(number)")
            }
            #expect(server.requestCount == 200)
            #expect(Set(server.requests.map(\.target)).count == 200)
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
