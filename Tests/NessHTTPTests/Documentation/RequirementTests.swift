import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The table of the RFCs' requirements, and the requirements that no other suite shows.
@Suite(.inTurn) struct RequirementTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL

    /// Returns the text in the third column of every table of the page.
    private static func evidence() throws -> [(clause: String, text: String)] {
        let text = try String(contentsOf: root.appending(path: "Documentation/Requirements.md"), encoding: .utf8)
        return text.components(separatedBy: "\n").filter { $0.hasPrefix("| ") && !$0.hasPrefix("| section |") }.map { line in
            let cells = line.dropFirst(2).components(separatedBy: " | ")
            return (cells[0], cells.count == 3 ? cells[2] : "")
        }
    }

    /// Returns the names `Suite.function` of all tests.
    private static func tests() throws -> Set<String> {
        let folder = root.appending(path: "Tests"), suite = /struct (\w+)/, test = /@Test\b(?s:.)*?\bfunc (\w+)/
        var names: Set<String> = []
        for case let file as URL in FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil) ?? .init()
        where file.lastPathComponent.hasSuffix("Tests.swift") {
            for part in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n@Suite").dropFirst() {
                guard let suite = part.firstMatch(of: suite)?.1 else { continue }
                names.formUnion(part.matches(of: test).map { "\(suite).\($0.1)" })
            }
        }
        return names
    }

    @Test("each requirement of the table names tests that exist, or a reason") func table() throws {
        let rows = try Self.evidence(), tests = try Self.tests(), checks = Set(TransportConformance.checks.map(\.id.rawValue))
        #expect(rows.count > 80)
        for row in rows {
            let names = row.text.matches(of: /`(\w+\.[\w-]+)`/).map { String($0.1) }
            #expect(!names.isEmpty || row.text.hasPrefix("– "), "\(row.clause) has neither a test nor a reason")
            for name in names { #expect(tests.contains(name) || checks.contains(name), "\(row.clause): \(name) does not exist") }
        }
    }

    @Test("a TRACE carries no credential of the manager, no cookie and no secret default header") func trace() async throws {
        try await withServer({ _ in .text("", headers: ["Set-Cookie": "a=1"]) }) { server, _ in
            let ness = Ness {
                $0.baseURL = server.url
                $0.authentication = .bearer("secret")
                $0.cookies = CookieJar()
                $0.defaultHeaders = ["X-Api-Key": "secret", "X-Plain": "1"]
            }
            for method in [HTTPMethod.get, .trace] { _ = try await ness.httpRequest(method, withUrl: "x").response() }
            _ = try await ness.get("x").response()
            for (request, carries) in zip(server.requests, [true, false, true]) {
                #expect(request.headers.contains("Authorization") == carries && request.headers.contains("X-Api-Key") == carries)
                #expect(request.headers.contains("X-Plain"))
            }
            #expect(server.requests.map { $0.headers["Cookie"] } == [nil, nil, "a=1"])
        }
    }

    @Test("an OPTIONS request with content has a Content-Type") func options() async throws {
        try await withServer { server, ness in
            _ = try await ness.httpRequest(.options, withUrl: "x").set(body: Data("content".utf8)).response()
            #expect(server.requests.first?.headers["Content-Type"] == "application/octet-stream")
        }
    }

    @Test("a body has either a Content-Length or chunks, never both") func framing() async throws {
        try await withServer { server, ness in
            let post = ness.post("x")
            _ = try await post.set(body: Data("content".utf8)).response()
            _ = try await post.set(streamBody: { try await $0.write(Data("content".utf8)) }).response()
            #expect(server.requests.map(\.bodyText) == ["content", "content"])
            #expect(server.requests.allSatisfy { $0.headers.contains("Transfer-Encoding") != $0.headers.contains("Content-Length") })
            #expect(server.requests.first?.headers["Content-Length"] == "7")
            #expect(server.requests.last?.headers["Transfer-Encoding"] == (Engine.isCurl ? "chunked" : nil))
        }
    }

    @Test("a response with Connection: close is the last one of its connection, even if the server does not close it")
    func close() async throws {
        let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"
        try await serving(script: { _ in [.loop([.receiveRequest, .send(answer)])] }) { server in
            let ness = Ness()
            for _ in 0..<2 {
                let text = try await ness.get(server.url).text()
                #expect(text == "hi")
            }
            #expect(server.connectionCount == 2)
        }
    }
}
