import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The target of a redirect, and the redirects that led to a response.
@Suite(.inTurn) struct RedirectHistoryTests {
    @Test(
        "a redirect has its target, resolved against its own URL",
        arguments: [
            (302, "/b", "http://a.test/b"), (301, "c?x=1", "http://a.test/dir/c?x=1"), (307, "//b.test/", "http://b.test/"),
            (308, "../up", "http://a.test/up"), (303, "https://c.test/a", "https://c.test/a"), (302, "", nil), (302, nil, nil),
            (200, "/b", nil), (304, "/b", nil), (300, "/b", nil),
        ] as [(Int, String?, String?)])
    func target(status: Int, location: String?, expected: String?) async throws {
        let headers: HTTPHeaders = location.map { ["Location": $0] } ?? [:]
        let response = HTTPResponse(statusCode: status, headers: headers, request: HTTPRequest(url: try url("http://a.test/dir/a")))
        #expect(response.redirectURL?.absoluteString == expected)
    }

    private func reply(_ request: ReceivedRequest) -> Reply {
        switch request.path {
        case "/1": .text("one", status: 301, headers: ["Location": "/2"])
        case "/2": .text("two", status: 303, headers: ["Location": "3?token=a"])
        default: .text("end")
        }
    }

    @Test("the redirects of a response are there in order, for data, streams, downloads and a redirect that is not followed")
    func history() async throws {
        try await withServer(reply) { _, ness in
            #expect(try await ness.httpRequest(withUrl: "3").response().history.isEmpty)
            let data = try await ness.httpRequest(.post, withUrl: "1").response()
            #expect(data.url.path == "/3" && data.history.map(\.statusCode) == [301, 303])
            #expect(data.history.map(\.url.path) == ["/1", "/2"] && data.history.map(\.redirectURL?.path) == ["/2", "/3"])
            #expect(data.history.map(\.text) == ["one", "two"] && data.history.map(\.request.method) == [.post, .get])
            #expect(data.history.allSatisfy { $0.history.isEmpty })
            let request = ness.httpRequest(withUrl: "1")
            let stream = try await request.streamRequest().value
            #expect(stream.message.history.map(\.statusCode) == [301, 303])
            try await withFolder { folder in
                let file = try await request.downloadRequest(forSavedLocation: folder.appending(path: "a")).value
                #expect(file.message.history.map(\.url.path) == ["/1", "/2"])
            }
            let stopped = try await request.set(redirects: .decide { $0.count == 1 ? .stop : .follow }).response()
            #expect(stopped.statusCode == 303 && stopped.history.map(\.statusCode) == [301])
            let error = await request.set(redirects: .follow(limit: 1)).dataRequest().nessError()
            #expect(error?.response?.history.map(\.statusCode) == [301])
        }
    }

    @Test("the history of an attempt is not that of the attempt before")
    func attempts() async throws {
        let tally = Tally()
        let rig = Rig()
        rig.mock.on(.get, "/1") { _ in
            tally.enter().isMultiple(of: 2) ? .status(302, headers: ["Location": "/2"]) : .text("direct")
        }
        rig.mock.on(.get, "/2") { _ in .failure(.connectionLost) }
        for isStream in [false, true] {
            let request = rig.ness.httpRequest(withUrl: "1"), control = CounterRetryControl(maxRetryCount: 1)
            if isStream {
                let head = try await request.set(retry: control).streamRequest().value.message
                #expect(head.history.isEmpty)
            } else {
                let response = try await request.set(retry: control).response()
                #expect(response.text == "direct" && response.history.isEmpty)
            }
        }
    }

    @Test("a caller's secrets are hidden even in the redirects of a shared exchange")
    func secrets() async throws {
        let isJoined = TestGate(), handler = CountingHandler()
        let rig = Rig { $0.duplicatedHandler = handler }
        rig.mock.on(.get, "/1") { _ in
            await isJoined.wait()
            return .status(302, headers: ["Location": "/2?cat=hidden"])
        }
        rig.mock.on(.get, "/2") { _ in .status(302, headers: ["Location": "/3"]) }
        rig.mock.on(.get, "/3") { _ in .text("end") }
        let first = rig.ness.httpRequest(withUrl: "1").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let second = rig.ness.httpRequest(withUrl: "1").set(secretNames: ["cat"]).dataRequest()
        await handler.tally.wait(for: 1)
        isJoined.open()
        #expect(try await first.value.message.history.count == 2)
        let history = try await second.value.message.history
        #expect(history.count == 2 && !history.contains { "\($0)".contains("hidden") })
    }
}
