#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Transfers that use a handle of libcurl one after another.
@Suite(.inTurn, .enabled(if: Engine.isCurl)) struct CurlHandleTests {
    @Test("a handle that is released gives its memory back", .inOwnProcess)
    func release() throws {
        /// The memory of the process in bytes: proc(5), `statm`.
        func memory() throws -> Int {
            let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
            return try #require(Int(fields[1])) * Int(getpagesize())
        }
        _ = try #require(CurlLibrary.shared)
        // Each handle copies the URL. libcurl takes up to 8 MB.
        let url = "http://a.test/" + String(repeating: "a", count: 4 << 20), before = try memory()
        for _ in 0..<100 {
            let handle = try #require(CurlHandle.make())
            try handle.set(.url, url)
        }
        // A sanitizer keeps 256 MiB of released memory.
        #expect(try memory() - before < 300 << 20)
    }

    @Test("a request has nothing of the one before: no body, method, header field, range or failure", arguments: [false, true])
    func sequence(isSecure: Bool) async throws {
        let authority = try TestAuthority()
        let handler: TestServer.Handler = { request in
            if request.path == "/cut" { return .script([.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), .close]) }
            let fields = ["A", "Range", "Content-Type", "Content-Length", "Accept", "Expect"].map { request.headers[$0] ?? "-" }
            return .text("\(request.method.rawValue) \(request.body.count) \(fields.joined(separator: " "))")
        }
        let server = try await isSecure ? TestServer.start(certificate: authority.certificate(), handler) : TestServer.start(handler)
        try await stopping(server) { server in
            let ness = try curlNess {
                if isSecure { $0.authorities = authority.pem }
            }
            let base = ness.httpRequest(withUrl: server.url), post = ness.httpRequest(.post, withUrl: server.url)
            let body = Data(repeating: 1, count: 500)
            let steps: [(RequestBuilder, String?)] = [
                (post.set(body: body), "POST 500 - - application/octet-stream 500 */* -"),
                (base, "GET 0 - - - - */* -"),
                (base.set(headers: ["A": "1", "Range": "bytes=0-"]), "GET 0 1 bytes=0- - - */* -"),
                (
                    ness.httpRequest(.put, withUrl: server.url).set(headers: ["A": "2"]).set(stringBody: "é"),
                    "PUT 2 2 - text/plain; charset=utf-8 2 */* -"
                ),
                (ness.httpRequest(.get, withUrl: server.url.appending(path: "cut")), nil),
                (base, "GET 0 - - - - */* -"),
                (ness.httpRequest(.delete, withUrl: server.url), "DELETE 0 - - - - */* -"),
                (post, "POST 0 - - - 0 */* -"),
                (ness.httpRequest(.delete, withUrl: server.url).set(body: body), "DELETE 500 - - application/octet-stream 500 */* -"),
                (post.set(body: Data(repeating: 2, count: 40_000)), "POST 40000 - - application/octet-stream 40000 */* -"),
                (post.set(body: body), "POST 500 - - application/octet-stream 500 */* -"),
            ]
            for round in 0..<3 {
                for (number, step) in steps.enumerated() {
                    let text = try? await step.0.dataRequest().value.message.text
                    #expect(text == step.1, "\(round) \(number)")
                }
                #expect(try await ness.httpRequest(.head, withUrl: server.url).dataRequest().value.message.body.isEmpty)
            }
        }
    }
}
#endif
