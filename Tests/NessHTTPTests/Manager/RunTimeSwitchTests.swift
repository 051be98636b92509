import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Settings that can change while requests run, and settings from which a single request can be exempt.
@Suite(.inTurn) struct RunTimeSwitchTests {
    private final class Names: RequestObserver {
        let started = Log<String>()
        func requestDidStart(_ request: HTTPRequest) { started.add(request.url.lastPathComponent) }
    }

    @Test("observers can be added and removed while the manager works; a running request keeps its observers")
    func observers() async throws {
        let rig = Rig(), first = Names(), second = Names()
        rig.mock.on(.get, "/*path") { _ in .status(200) }
        _ = try await rig.ness.httpRequest(withUrl: "a").dataRequest().value
        rig.ness.observers.append(first)
        _ = try await rig.ness.httpRequest(withUrl: "b").dataRequest().value
        rig.ness.observers.append(second)
        _ = try await rig.ness.httpRequest(withUrl: "c").dataRequest().value
        rig.ness.observers.removeAll { $0 as? Names === first }
        _ = try await rig.ness.httpRequest(withUrl: "d").dataRequest().value
        #expect(first.started.entries == ["b", "c"])
        #expect(second.started.entries == ["c", "d"])
    }

    @Test("a limit of zero is a pause, which only requests without throttle pass") func pause() async throws {
        let rig = Rig { $0.throttle = ThrottleLimit(rate: 0.001, burst: 1) }, ness = rig.ness
        rig.mock.on(.get, "/*path") { request in .text(request.url.lastPathComponent) }
        ness.maximumConnectionsPerHost = 0
        let waiting = ness.httpRequest(withUrl: "held").dataRequest()
        for _ in 0..<3 {
            let text = try await ness.httpRequest(withUrl: "free").withoutQueueing().dataRequest().value.message.text
            #expect(text == "free")
        }
        #expect(!waiting.isCompleted)
        #expect(rig.mock.requests.allSatisfy { $0.url.lastPathComponent == "free" })
        ness.maximumConnectionsPerHost = -1
        #expect(ness.maximumConnectionsPerHost == 0)
        ness.maximumConnectionsPerHost = 2
        #expect(try await waiting.value.message.text == "held")
    }

    @Test(
        "a request can declare whether it is idempotent, which decides on retries",
        arguments: [true, false, nil] as [Bool?])
    func idempotence(_ said: Bool?) async throws {
        for method in [HTTPMethod.post, .get] {
            let rig = Rig { $0.retryControl = BackoffRetryControl(maxRetryCount: 1) }
            rig.mock.on(method, "/x", replies: [.status(503, headers: ["Retry-After": "1"]), .status(200)])
            var request = rig.ness.httpRequest(method, withUrl: "x")
            if let said { request = request.set(isIdempotent: said) }
            let isIdempotent = said ?? (method == .get)
            #expect(try request.build().isIdempotent == isIdempotent)
            #expect(try await request.dataRequest().value.message.statusCode == (isIdempotent ? 200 : 503))
        }
    }

    @Test("each request has an id, which its attempts and redirects keep") func identity() async throws {
        let rig = Rig { $0.retryControl = CounterRetryControl(maxRetryCount: 1) }
        rig.mock.on(.get, "/a", replies: [.status(503), .status(302, headers: ["Location": "/b"])])
        rig.mock.on(.get, "/b") { _ in .status(200) }
        let request = rig.ness.httpRequest(withUrl: "a")
        let one = try await request.dataRequest().value.message.request.id
        #expect(Set(rig.mock.requests.map(\.id)) == [one] && rig.mock.requests.count == 3)
        #expect(try await request.dataRequest().value.message.request.id != one)
    }

    @Test("a status has a class and a name")
    func status() {
        let request = HTTPRequest(url: URL(fileURLWithPath: "/"))
        let known: [(Int, HTTPResponse.StatusClass?, String)] = [
            (103, .informational, "Early Hints"), (200, .successful, "OK"), (299, .successful, "Success"),
            (308, .redirection, "Permanent Redirect"),
            (404, .clientError, "Not Found"), (599, .serverError, "Server Error"), (600, nil, "Unknown"), (99, nil, "Unknown"),
            (-1, nil, "Unknown"),
        ]
        for (code, statusClass, phrase) in known {
            let response = HTTPResponse(statusCode: code, request: request)
            #expect(response.statusClass == statusClass, "\(code)")
            #expect(response.reasonPhrase == phrase)
        }
    }

    @Test("a User-Agent of program, system and locale is available, and can be sent") func userAgent() async throws {
        #expect(HTTPHeaders.standardUserAgent.wholeMatch(of: /[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)? \([ -~]+\)/) != nil)
        #expect(HTTPHeaders.userAgent(name: "Ä b\r\nX: y", version: "1 2", comment: "a(b)\n\u{1B}c") == "--b-X--y/1-2 (a-b---c)")
        #expect(HTTPHeaders.userAgent(name: "", version: nil, comment: "c") == "Ness (c)")
        try await withServer({ request in
            .text(request.headers["user-agent"] ?? "")
        }) { server, _ in
            let ness = Ness { $0.defaultHeaders["User-Agent"] = HTTPHeaders.standardUserAgent }
            let sent = try await ness.httpRequest(withUrl: server.url).dataRequest().value.message.text
            #expect(sent == HTTPHeaders.standardUserAgent)
        }
    }

    @Test("the caller configures sessions, except for the settings that the pipeline controls")
    func configuration() async throws {
        let made = Tally()
        try await withServer({ request in
            .text(request.headers["x-additional"] ?? "none")
        }) { server, _ in
            let ness = Ness {
                $0.transport = URLSessionTransport { configuration in
                    made.enter()
                    configuration.httpAdditionalHeaders = ["X-Additional": "1\r\nX-Injected: 2"]
                    configuration.timeoutIntervalForRequest = 0.001
                }
            }
            for method in [HTTPMethod.get, .post] {
                let text = try await ness.httpRequest(method, withUrl: server.url).dataRequest().value.message.text
                #expect(text == "none")
            }
        }
        #expect(made.total == 2)
    }

    @Test("each request decides on cellular access") func cellular() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x") { _ in .status(200) }
        _ = try await rig.ness.httpRequest(withUrl: "x").set(allowsCellularAccess: false).dataRequest().value
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        let urlRequests = try rig.mock.requests.map(URLSessionTransport.makeURLRequest)
        #expect(urlRequests.map(\.allowsCellularAccess) == [false, true])
    }

    @Test("requests that declare equality share an exchange, even with different content, within one kind")
    func duplicateIdentifier() async throws {
        let handler = CountingHandler(), gate = TestGate()
        let rig = Rig { $0.duplicatedHandler = handler }
        rig.mock.on(nil, "/*path") { request in
            await gate.wait()
            return .text(request.url.lastPathComponent)
        }
        let first = rig.ness.httpRequest(.post, withUrl: "a").set(stringBody: "1").set(duplicateIdentifier: "save").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let second = rig.ness.httpRequest(.put, withUrl: "b").set(duplicateIdentifier: "save").dataRequest()
        await handler.tally.wait(for: 1)
        let other = rig.ness.httpRequest(.put, withUrl: "b").set(duplicateIdentifier: "load").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 2 }
        gate.open()
        #expect(try await first.value.message.text == "a")
        #expect(try await second.value.message.text == "a")
        #expect(try await other.value.message.text == "b")
        #expect(rig.mock.requests.count == 2)
    }
}
