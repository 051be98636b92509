import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Exchanges of the default transport and of URLSession.
@Suite(.inTurn) struct TransportTests {
    @Test("a request can be built and sent without a manager, and its events can be read")
    func belowTheManager() async throws {
        try await withServer({ .text("\($0.method) \($0.target) \($0.bodyText)", status: 201) }) { _, ness in
            let request = try ness.httpRequest(.post, withUrl: "x").set(urlParameters: ["a": 1]).set(stringBody: "b").build()
            let heads = Log<Int>(), pieces = Log<Data>()
            try await URLSessionTransport().send(request) { event in
                switch event {
                case .sent, .connection, .interim, .trailers: break
                case .head(let status, _): heads.add(status)
                case .body(let data): pieces.add(data)
                }
            }
            #expect(heads.entries == [201])
            #expect(pieces.entries.reduce(Data(), +) == Data("POST /x?a=1 b".utf8))
        }
        let error = await #expect(throws: TransportError.self) {
            try await URLSessionTransport().send(HTTPRequest(url: try await refusingURL())) { _ in }
        }
        #expect(error?.kind == .cannotConnect)
    }

    @Test("`prepare` changes what only URLSession offers, and a changed method or URL fails before anything is sent")
    func prepare() async throws {
        try await serving({ .text($0.headers["X-Prepared"] ?? "none") }) { server in
            let transport = URLSessionTransport(prepare: { urlRequest, request in
                switch request.url.path {
                case "/method": urlRequest.httpMethod = "DELETE"
                case "/url": urlRequest.url = URL(string: server.at("/other"))
                default: urlRequest.setValue("\(request.method) \(request.url.path)", forHTTPHeaderField: "X-Prepared")
                }
            })
            let ness = Ness {
                $0.transport = transport
                $0.baseURL = server.url
            }
            let text = try await ness.get("x").text()
            #expect(text == "GET /x")
            for path in ["method", "url"] {
                let error = await ness.get(path).dataRequest().nessError()
                #expect(error?.kind == .invalidRequest && error?.context.reason.contains("prepare") == true)
            }
            #expect(server.requestCount == 1)
        }
    }

    @Test(
        "a mistake in a host that may get the system's credentials fails every request, and so does a host that no rule can name",
        arguments: [("https://a.test", "b.test"), ("a.test", String(repeating: "b.", count: 130) + "test")])
    func systemCredentials(host: String, target: String) async throws {
        let transport = URLSessionTransport(systemCredentials: [host])
        let error = await #expect(throws: TransportError.self) {
            try await transport.send(HTTPRequest(url: try url("http://\(target)/"))) { _ in }
        }
        #expect(error?.kind == .invalidRequest && error?.reason.contains("systemCredentials") == true)
    }

    @Test(
        "an error of URLSession becomes a typed error, with the received part of the response",
        .toBeDecidedOnAMac("whether the head is known if a body without a Content-Type breaks off"))
    func session() async throws {
        let refused = await Ness().httpRequest(withUrl: try await refusingURL()).dataRequest().nessError()
        #expect(refused?.kind == .cannotConnect)
        #expect(Engine.isCurl || (refused?.underlying as NSError?)?.domain == NSURLErrorDomain)
        let half = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", garbage = "I am no HTTP server\r\n\r\n"
        try await withServer({ .script([.send($0.path == "/half" ? half : garbage), .close]) }) { _, ness in
            let truncated = await ness.httpRequest(withUrl: "half").dataRequest().nessError()
            #expect(truncated?.kind == .truncated)
            #expect(truncated?.response?.statusCode == 200 && truncated?.response?.text == "half")
            #expect(await ness.httpRequest(withUrl: "garbage").dataRequest().nessError()?.kind == .malformedResponse)
            #expect(await ness.httpRequest(withUrl: "http://").dataRequest().nessError()?.kind == .invalidRequest)
        }
    }

    #if !canImport(FoundationNetworking)
    @Test("a transport asks about each server's certificate, and not about a server without one")
    func serverTrust() async throws {
        let asked = Tally()
        let transport = URLSessionTransport(serverTrust: { _ in
            asked.enter()
            return .rejected
        })
        try await withServer(configure: { $0.transport = transport }) { _, ness in
            let text = try await ness.get("x").text()
            #expect(text == "ok")
            #expect(asked.total == 0)
        }
    }
    #endif
}
