import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The fragment of a redirected request (RFC 9110, 10.2.2), on sockets.
@Suite(.inTurn) struct RedirectFragmentTests {
    /// Serves `/0` to `/3`, each of which redirects to the Location of its number.
    private func serve(_ locations: [String], _ body: (TestServer, Ness) async throws -> Void) async throws {
        let answer: TestServer.Handler = { request in
            guard let number = Int(request.path.dropFirst()), number < locations.count else { return .text("arrived") }
            return .status(302, headers: ["Location": locations[number]])
        }
        try await withServer(answer, body)
    }

    struct Chain: Sendable {
        let start: String
        let locations: [String]
        let urls: [String]
    }

    @Test(
        "a redirect inherits the fragment, unless its Location has one, and `url` and `history` show it",
        arguments: [
            Chain(start: "/0#a", locations: ["/1", "/end"], urls: ["/0#a", "/1#a", "/end#a"]),
            Chain(start: "/0#a", locations: ["/1#b", "/2", "/end#%C3%BC"], urls: ["/0#a", "/1#b", "/2#b", "/end#%C3%BC"]),
            Chain(start: "/0", locations: ["/1#b", "/end"], urls: ["/0", "/1#b", "/end#b"]),
            Chain(start: "/0#a", locations: ["/1#", "/end"], urls: ["/0#a", "/1#", "/end#"]),
            Chain(start: "/0#a", locations: ["/end?q#b"], urls: ["/0#a", "/end?q#b"]),
            Chain(start: "/0?q#a/b?c", locations: ["#b", "//127.0.0.1:PORT/end"], urls: ["/0?q#a/b?c"]),
            Chain(start: "/0", locations: ["/end"], urls: ["/0", "/end"]), Chain(start: "/end#a", locations: [], urls: ["/end#a"]),
        ])
    func chain(_ chain: Chain) async throws {
        try await serve(chain.locations) { server, ness in
            // The Location `#b` leads to the same URL, over and over.
            let request = ness.get(server.at(chain.start)), isLoop = chain.locations.first == "#b"
            let response = try await (isLoop ? request.set(redirects: .stop) : request).response()
            let urls = (response.history + [response]).map(\.url.absoluteString)
            #expect(urls == chain.urls.map { server.at($0) })
            #expect(server.requests.map(\.target) == chain.urls.map { String($0.prefix { $0 != "#" }) })
            #expect(!server.requests.contains { $0.headers.contains { $0.value.contains("#") } })
            if isLoop { #expect(response.redirectURL?.absoluteString == server.at("/0?q#b")) }
            // The request is shown as it was sent.
            #expect((response.history + [response]).allSatisfy { $0.request.url.encodedFragment == nil })
        }
    }

    @Test("heads, streams and redirect decisions show the inherited fragment") func elsewhere() async throws {
        try await serve(["/1", "/end#b"]) { server, ness in
            let heads = Log<URL>(), targets = Log<URL>()
            let request = ness.get(server.at("/0#a")).onHead { heads.add($0.url) }
            let stream = try await request.streamRequest().value
            #expect(stream.message.url.absoluteString == server.at("/end#b"))
            #expect(heads.entries.last?.absoluteString == server.at("/end#b"))
            let policy = RedirectPolicy.decide { redirection in
                targets.add(redirection.request.url)
                return redirection.count == 0 ? .follow : .stop
            }
            let stopped = try await ness.get(server.at("/0#a")).set(redirects: policy).response()
            #expect(targets.entries.map(\.absoluteString) == ["/1#a", "/end#b"].map { server.at($0) })
            #expect(stopped.url.absoluteString == server.at("/1#a"))
        }
    }

    @Test("callers who share an exchange each see their own fragment, unless a redirect named another") func shared() async throws {
        for (location, ends) in [("/end", ["/end#1", "/end#2", "/end"]), ("/end#b", ["/end#b", "/end#b", "/end#b"])] {
            let gate = TestGate(), joining = LimitedJoining(2)
            let answer: TestServer.Handler = { request in
                if request.path != "/end" { return .status(302, headers: ["Location": location]) }
                return .script([.wait(gate), .respond(.text("arrived"))])
            }
            try await withServer(answer, configure: { $0.duplicatedHandler = joining }) { server, ness in
                let promises = ["#1", "#2", ""].map { ness.get(server.at("/0\($0)")).dataRequest() }
                await joining.waitUntilJoined(by: ness.get(server.at("/0")))
                gate.open()
                var urls: [String] = []
                for promise in promises { urls.append(try await promise.value.message.url.absoluteString) }
                #expect(urls == ends.map { server.at($0) })
                #expect(server.requestCount == 2)
            }
        }
    }

    @Test("a stored response has the fragment of the new request") func stored() async throws {
        try await withServer(
            { _ in .text("x", headers: ["Cache-Control": "max-age=1000"]) }, configure: { $0.cache = HTTPCache(memoryLimit: 1 << 20) }
        ) { server, ness in
            for path in ["/x#a", "/x#b", "/x"] {
                let response = try await ness.get(server.at(path)).response()
                #expect(response.url.absoluteString == server.at(path))
            }
            #expect(server.requestCount == 1)
        }
    }
}
