import Foundation
import NessHTTP
import TestSupport
import Testing

@testable import NessInspector
@testable import NessTesting

/// The page's server: which requests it accepts, and what it sends to the page.
@Suite(.inTurn) struct PageTests {
    private static let token = PageAccess()

    private func request(_ target: String, _ headers: HTTPHeaders, method: HTTPMethod = .get) -> ReceivedRequest {
        ReceivedRequest(method: method, target: target.replacing("TOKEN", with: Self.token.token), headers: headers)
    }

    @Test(
        "a request without the token, under another name or from another site is rejected",
        arguments: [
            ("/?token=TOKEN", ["Host": "127.0.0.1:80"], true), ("/?token=TOKEN", ["Host": "localhost:80"], true),
            ("/?token=TOKEN", ["Host": "127.0.0.1:80", "Origin": "http://127.0.0.1:80"], true), ("/", ["Host": "127.0.0.1:80"], false),
            ("/?token=", ["Host": "127.0.0.1:80"], false), ("/?token=x", ["Host": "127.0.0.1:80"], false),
            ("/?token=TOKENx", ["Host": "127.0.0.1:80"], false), ("/?token=x&token=TOKEN", ["Host": "127.0.0.1:80"], false),
            ("/?token=TOKEN", [:], false), ("/?token=TOKEN", ["Host": "evil.test:80"], false),
            ("/?token=TOKEN", ["Host": "127.0.0.1.evil.test"], false), ("/?token=TOKEN", ["Host": "evil.test:127.0.0.1"], false),
            ("/?token=TOKEN", ["Host": "127.0.0.1:80", "Origin": "http://evil.test"], false),
            ("/?token=TOKEN", ["Host": "127.0.0.1:80", "Origin": "null"], false),
            ("/?token=TOKEN", ["Host": "127.0.0.1:80", "Origin": "http://127.0.0.1:81"], false),
            ("/?token=TOKEN", ["Host": "127.0.0.1:80", "Origin": "https://127.0.0.1:80"], false),
        ] as [(String, HTTPHeaders, Bool)])
    func access(target: String, headers: HTTPHeaders, isAccepted: Bool) {
        #expect(Self.token.accepts(request(target, headers)) == isAccepted)
    }

    @Test("two Host fields are rejected")
    func twoHosts() {
        var headers: HTTPHeaders = ["Host": "127.0.0.1:80"]
        headers.add("127.0.0.1:80", for: "Host")
        #expect(!Self.token.accepts(request("/?token=TOKEN", headers)))
    }

    /// Reads an inspector's pages, like a browser.
    private struct Browser {
        let inspector: Inspector
        let ness: Ness

        init(_ inspector: Inspector) {
            self.inspector = inspector
            ness = Ness { $0.baseURL = URL(string: "/", relativeTo: inspector.url) }
        }

        func get(_ path: String) -> RequestBuilder { ness.get(path).set(urlParameters: ["token": inspector.token]) }
        func post(_ path: String) -> RequestBuilder { ness.post(path).set(urlParameters: ["token": inspector.token]) }
    }

    @Test("every response forbids foreign scripts; the page's nonce is new each time, and its script reaches no other host")
    func page() async throws {
        let inspector = try await Inspector.start { _ in }
        let browser = Browser(inspector)
        let pages = [try await browser.get("/").response(), try await browser.get("/").response()]
        #expect(pages.allSatisfy { $0.statusCode == 200 && $0.headers["Content-Type"] == "text/html; charset=utf-8" })
        let policies = pages.compactMap { $0.headers["Content-Security-Policy"] }
        #expect(Set(policies).count == 2 && policies.allSatisfy { $0.hasPrefix("default-src 'none'; script-src 'nonce-") })
        for (page, policy) in zip(pages, policies) {
            let nonce = try #require(policy.split(separator: "'nonce-").dropFirst().first?.prefix { $0 != "'" })
            #expect(page.text.contains("<script nonce=\"\(nonce)\">") && page.text.contains("<style nonce=\"\(nonce)\">"))
            #expect(!page.text.contains("__NONCE__") && !page.text.contains("innerHTML"))
        }
        for path in ["requests/1", "requests/x", "unknown"] {
            let response = try await browser.get(path).response()
            #expect(response.statusCode == 404 && response.headers["Content-Security-Policy"]?.hasPrefix("default-src 'none'") == true)
        }
        #expect(try await browser.ness.get("/").response().statusCode == 403)
        #expect(try await browser.ness.post("clear").response().statusCode == 403)
        await inspector.stop()
    }

    @Test("a page gets the requests so far, then each change, and after a clear the numbers that are left")
    func events() async throws {
        let inspector = try await Inspector.start { _ in }
        let site = try await TestServer.start { _ in .text("hello") }
        let watched = Ness {
            $0.baseURL = site.url
            $0.observers = [inspector]
        }
        _ = try await watched.get("a").response()
        let browser = Browser(inspector)
        let batches = browser.get("events").streamRequest().serverSentEvents.makeAsyncIterator()
        func next(until isLast: (JSONValue) -> Bool) async throws -> JSONValue {
            while true {
                let event = try #require(try await batches.next())
                let batch = try JSONValue(parsing: Data(event.data.utf8))
                if isLast(batch) { return batch }
            }
        }
        let first = try await next { $0["requests"]?[0]?["end"] != .null }
        #expect(first["requests"]?[0]?["path"]?.stringValue == "/a" && first["requests"]?[0]?["status"]?.intValue == 200)
        #expect(first["requests"]?[0]?["exchanges"]?[0]?["connection"]?["isReused"]?.boolValue == false)
        _ = try await watched.get("b").response()
        let second = try await next { $0["requests"]?[0]?["id"]?.intValue == 2 && $0["requests"]?[0]?["end"] != .null }
        #expect(second["totals"]?["requests"]?.intValue == 2)
        let details = try JSONValue(parsing: try await browser.get("requests/2").response().body)
        #expect(details["response"]?["body"]?["text"]?.stringValue == "hello")
        let archive = try HTTPArchive(data: try await browser.post("har").set(jsonBody: [1, 2]).response().body)
        #expect(archive.entries.map(\.request.url) == ["\(site.url)/a", "\(site.url)/b"] && archive.entries.allSatisfy { $0.time > 0 })
        #expect(archive.entries.first?.timings.connect != nil && archive.entries.last?.response.body.text == "hello")
        #expect(try await browser.post("har").set(jsonBody: ["x"]).response().statusCode == 400)
        #expect(try await browser.post("clear").response().statusCode == 204)
        #expect(try await next { $0["kept"] != nil }["kept"] == [])
        await inspector.stop()
        await site.stop()
    }

    @Test("a page that stops reading delays no request, and not the inspector's end")
    func stalled() async throws {
        let inspector = try await Inspector.start { _ in }
        let rig = Rig { $0.observers = [inspector] }
        rig.mock.on(.get, "/a") { _ in .data(Data(repeating: 65, count: 10_000)) }
        let port = try #require(inspector.url.port)
        let tab = try #require(Tunnel.connection(to: UInt16(port)))
        defer { Platform.closeDescriptor(tab) }
        let head = Array("GET /events?token=\(inspector.token) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)
        #expect(send(tab, head, head.count, 0) == head.count)
        for _ in 1...100 {
            let promises = (1...100).map { rig.ness.get("a").set(urlParameters: ["number": $0]).dataRequest() }
            for promise in promises { _ = try await promise.value }
        }
        var known = 0
        #expect(try #require(await inspector.records.changes(after: &known)).totals.requests == 10_000)
        await inspector.stop()
    }
}

extension Inspector {
    fileprivate var token: String { url.query.map { String($0.dropFirst("token=".count)) } ?? "" }
}
