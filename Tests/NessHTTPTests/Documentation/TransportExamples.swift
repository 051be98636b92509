import Foundation
import NessHTTP
import NessTesting
import Testing

/// The examples of bodies and transports: see `DocumentationExamples`.
@Suite(.inTurn) struct TransportExamples {
    private struct User: Encodable {
        let name: String
    }

    private struct Camera: Sendable {
        let frames = AsyncStream<Data> { $0.finish() }
    }

    private struct Row: Sendable {
        let csv: Data
    }

    private struct Database: Sendable {
        func rows(of query: String) -> AsyncStream<Row> {
            AsyncStream { continuation in
                continuation.yield(Row(csv: Data("a,b\n".utf8)))
                continuation.finish()
            }
        }
    }

    @Test("a body is made of a value, a file, a slice of a file or a sequence") func bodies() throws {
        let user = User(name: "Ann"), url = try url("file:///tmp/film.mp4"), camera = Camera()
        let body = try HTTPBody.json(encoding: user)
        let film = HTTPBody(file: url, contentType: "video/mp4")
        let rest = HTTPBody(file: url, offset: 1_000_000)
        let live = HTTPBody.stream(camera.frames)
        #expect(body.length == 14 && live.length == nil)
        #expect(film.headers["Content-Type"] == "video/mp4" && rest.headers["Content-Type"] == "application/octet-stream")
    }

    @Test("a sequence is sent while it is filled") func sequence() async throws {
        try await serving({ .text($0.bodyText) }) { server in
            let ness = Ness { $0.baseURL = server.url }
            let (pieces, continuation) = AsyncStream<Data>.makeStream()
            let promise = ness.httpRequest(.post, withUrl: "log").set(streamBody: pieces).dataRequest()
            continuation.yield(Data("one line\n".utf8))
            continuation.finish()
            let text = try await promise.value.message.text
            #expect(text == "one line\n")
        }
    }

    @Test("a closure makes the sequence for each attempt") func madeSequence() async throws {
        let database = Database(), query = "all"
        let body = HTTPBody.stream(contentType: "text/csv") { database.rows(of: query).map { $0.csv } }
        try await serving({ .text($0.bodyText) }) { server in
            let ness = Ness()
            for _ in 0..<2 {
                let text = try await ness.httpRequest(.post, withUrl: server.url).set(body: body).dataRequest().value.message.text
                #expect(text == "a,b\n")
            }
        }
    }

    @Test("the report of a transport that answers everything with 200 names the rules that it breaks") func report() async throws {
        let report = await TransportConformance.run({ MyTransport() }, checks: TransportConformance.checks(in: .shutdown))
        #expect(!report.isPassed)
    }

    #if canImport(FoundationNetworking)
    @Test("an authority and a proxy are set when the transport is made") func options() async throws {
        guard CurlTransport.libraryVersion != nil, FileManager.default.fileExists(atPath: "/etc/company/ca.pem") else { return }
        let proxyURL = try url("http://proxy.example:3128"), password = "secret"
        let transport = try CurlTransport {
            $0.authorities = .file(URL(filePath: "/etc/company/ca.pem"))
            $0.proxy = .url(proxyURL, username: "me", password: password)
        }
        let ness = Ness { $0.transport = transport }
        #expect(ness.configuration.transport is CurlTransport)
    }
    #endif
}

/// The examples of the conformance suite. They are compiled, but do not run: `MyTransport` conforms to nothing.
@Suite(.disabled("these examples are only compiled")) struct ConformanceExamples {
    // swift-format-ignore
    @Test func conforms() async {
        let report = await TransportConformance.run({ MyTransport() }, except: [
            "receive.back-pressure": "the event loop has no way to pause a connection",
            "shutdown.twice": .notRun("a second shutdown is a programming error here, and traps"),
        ])
        #expect(report.isPassed, "\(report)")
    }

    @Test(arguments: TransportConformance.checks(in: .cancel))
    func cancellation(_ check: TransportConformance.Check) async {
        let report = await TransportConformance.run({ MyTransport() }, checks: [check])
        #expect(report.isPassed, "\(report)")
    }

    @Test func secure() async throws {
        let authority = try TestAuthority()
        let report = await TransportConformance.run({ MyTransport(trusting: authority.pem) }, authority: authority)
        #expect(report.isPassed, "\(report)")
    }

    @Test func short() async {
        let report = await TransportConformance.run({ MyTransport() })
        #expect(report.isPassed, "\(report)")
    }
}

private struct MyTransport: Transport {
    init(trusting pem: String = "") {}

    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try await receive(.head(statusCode: 200, headers: [:]))
    }
}
