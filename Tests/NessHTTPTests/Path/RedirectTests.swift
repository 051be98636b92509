import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The requests that the server behind a redirect receives: the whole matrix of RFC 9110, 15.4, on the wire.
@Suite(.inTurn) struct RedirectTests {
    static let codes = [301, 302, 303, 307, 308]
    static let methods: [HTTPMethod] = [.get, .head, .post, .put, .delete, .patch, .options]

    struct Case: Sendable, CustomTestStringConvertible {
        let status: Int
        let method: HTTPMethod
        let hasBody: Bool
        var testDescription: String { "\(status) \(method)\(hasBody ? " with body" : "")" }

        /// RFC 9110: 15.4.4 for 303, the notes of 15.4.2 and 15.4.3 for POST; 15.4.8 and 15.4.9 for the rest.
        var expectedMethod: HTTPMethod {
            switch (status, method) {
            case (303, .head): .head
            case (303, _): .get
            case (301, .post), (302, .post): .get
            default: method
            }
        }
    }

    static let cases: [Case] = codes.flatMap { status in
        methods.flatMap { method in
            let bodies = method == .get || method == .head ? [false] : [false, true]
            return bodies.map { Case(status: status, method: method, hasBody: $0) }
        }
    }

    @Test("the method, the body and its header fields arrive as RFC 9110 requires", arguments: cases)
    func matrix(_ given: Case) async throws {
        try await serving({ request in
            request.path == "/from" ? .text("moved", status: given.status, headers: ["Location": "/to"]) : .text("arrived")
        }) { server in
            var builder = Ness().httpRequest(given.method, withUrl: server.at("/from"))
                .set(headers: [
                    "Content-Language": "en", "Content-Location": "/origin", "Content-Disposition": "inline", "X-Kept": "yes",
                ])
            if given.hasBody { builder = builder.set(body: HTTPBody(Data("content".utf8), headers: ["Content-Type": "text/x-matrix"])) }
            let response = try await builder.dataRequest().value.message

            #expect(response.statusCode == 200)
            #expect(response.text == (given.expectedMethod == .head ? "" : "arrived"))
            #expect(response.url.absoluteString == server.at("/to"))
            #expect(response.request.method == given.expectedMethod)
            #expect(server.requests.map(\.target) == ["/from", "/to"])
            let first = try #require(server.requests.first), second = try #require(server.requests.last)
            #expect(first.method == given.method)
            #expect(first.bodyText == (given.hasBody ? "content" : ""))
            #expect(second.method == given.expectedMethod)
            #expect(second.headers["X-Kept"] == "yes")
            if given.expectedMethod != given.method {
                #expect(second.body.isEmpty)
                #expect(second.headers.filter { $0.name.lowercased().hasPrefix("content-") }.map(\.name) == [])
                #expect(!second.headers.contains("Transfer-Encoding"))
            } else if given.status != 303 {
                #expect(second.bodyText == (given.hasBody ? "content" : ""))
                #expect(second.headers["Content-Language"] == "en")
                if given.hasBody { #expect(second.headers["Content-Type"] == "text/x-matrix") }
            }
        }
    }

    @Test("if the body is removed, the fields that describe it are removed", arguments: ["Digest", "Last-Modified"])
    func contentFields(_ name: String) async throws {
        // RFC 9110, 15.4, names both fields besides Content-*.
        let wire = AnsweringTransport(redirectingTo: "/to", status: 303)
        _ = try await Ness { $0.transport = wire }.httpRequest(.post, withUrl: "http://a.example/from")
            .set(headers: HTTPHeaders([name: "x"])).set(stringBody: "content").dataRequest().value
        #expect(wire.requests.map { $0.headers[name] } == ["x", nil])
    }

    @Test("a redirect's own body is never part of the result, in every framing", arguments: codes)
    func redirectBody(_ status: Int) async throws {
        let page = Data(repeating: 97, count: 100_000)
        try await serving({ request in
            switch request.path {
            case "/length": .data(page, status: status, headers: ["Location": "/chunks"])
            case "/chunks": .chunked([page, page], status: status, headers: ["Location": "/none"])
            case "/none": .script([.send("HTTP/1.1 \(status) Moved\r\nLocation: /to\r\n\r\nuntil the close"), .close])
            default: .text("arrived")
            }
        }) { server in
            let response = try await Ness().httpRequest(.get, withUrl: server.at("/length")).dataRequest().value.message
            #expect(response.text == "arrived")
            #expect(server.requests.map(\.target) == ["/length", "/chunks", "/none", "/to"])
        }
    }

    // MARK: what is no redirect

    @Test("other 3xx are results, with their bodies", arguments: [300, 304, 305, 306])
    func notFollowed(_ status: Int) async throws {
        try await serving({ request in
            request.path == "/from" ? .text("choose", status: status, headers: ["Location": "/to"]) : .text("arrived")
        }) { server in
            let response = try await Ness().httpRequest(.get, withUrl: server.at("/from")).dataRequest().value.message
            #expect(response.statusCode == status)
            #expect(response.text == (status == 304 ? "" : "choose"))
            #expect(response.headers["Location"] == "/to")
            #expect(server.requestCount == 1)
        }
    }

    static let nowhereLocations: [String?] = [nil, "", " ", "http://[bad", "http://", "http:///path", "http://host:port/", "//"]

    @Test("a redirect without a target is a result, with its body", arguments: codes, nowhereLocations)
    func nowhere(_ status: Int, _ location: String?) async throws {
        let wire = AnsweringTransport { _ in
            .init(status: status, headers: location.map { ["Location": $0] } ?? [:], text: "moved")
        }
        let response = try await Ness { $0.transport = wire }.httpRequest(withUrl: "http://a.example/").dataRequest().value.message
        #expect(response.statusCode == status)
        #expect(response.text == "moved")
        #expect(wire.requests.count == 1)
    }

}
