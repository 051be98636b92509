import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Managers: the default one, their settings, and their independence of each other.
@Suite(.inTurn) struct ManagerTests {
    @Test("the manager has its iONess name; the default one can be replaced; each manager has its own transport")
    func managers() async throws {
        let mocks = (0..<2).map { _ in MockTransport(onUnmatched: .reply(.status(200))) }
        let managers: [NetworkSessionManager] = mocks.map { mock in NetworkSessionManager { $0.transport = mock } }
        let before = Ness.default
        defer { Ness.default = before }
        Ness.default = managers[0]
        #expect(Ness.default === managers[0])
        _ = try await Ness.default.httpRequest(withUrl: "https://mock.test/default").dataRequest().value
        _ = try await managers[1].httpRequest(withUrl: "https://mock.test/own").dataRequest().value
        #expect(mocks.map { $0.requests.map(\.url.path) } == [["/default"], ["/own"]])
        #expect(managers[1].configuration.transport as? MockTransport === mocks[1])
    }

    @Test("the default manager can be replaced, which changes the requests made afterwards")
    func sharedConfiguration() async throws {
        let before = Ness.default
        defer { Ness.default = before }
        let rigs = (0..<2).map { number in Rig(onUnmatched: .reply(.status(200))) { $0.defaultHeaders = ["X-Number": "\(number)"] } }
        Ness.default = rigs[0].ness
        let old = Ness.default.httpRequest(withUrl: "x")
        Ness.default = rigs[1].ness
        _ = try await Ness.default.httpRequest(withUrl: "x").dataRequest().value
        _ = try await old.dataRequest().value
        #expect(rigs.map { $0.mock.requests.map { $0.headers["X-Number"] } } == [["0"], ["1"]])
    }

    @Test("many threads can use a manager; there is a default one, and you can make others")
    func threads() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))), other = Rig(onUnmatched: .reply(.status(200)))
        #expect(Ness.default !== rig.ness && Ness.default === Ness.default)
        await onThreads(8) { thread in
            for number in 0..<50 {
                let builder = rig.ness.httpRequest(.post, withUrl: "\(thread)/\(number)")
                _ = try? builder.dataRequest().wait(timeout: .seconds(60))
            }
        }
        #expect(Set(rig.mock.requests.map(\.url.path)).count == 400)
        #expect(other.mock.requests.isEmpty)
    }

    @Test("a reset ends running and waiting requests; the manager stays usable")
    func resetting() async throws {
        let rig = Rig { $0.maximumConnectionsPerHost = 1 }
        rig.mock.on(.post, "/held") { _ in
            await TestGate().wait()
            return .status(200)
        }
        rig.mock.on(.post, "/next") { _ in .status(200) }
        let promises = (0..<3).map { _ in rig.ness.httpRequest(.post, withUrl: "held").dataRequest() }
        await rig.mock.waitUntil { $0.requests.count == 1 }
        await rig.ness.reset()
        for promise in promises { #expect(await promise.nessError()?.kind == .dropped) }
        #expect(try await rig.ness.httpRequest(.post, withUrl: "next").dataRequest().value.message.statusCode == 200)
        #expect(rig.mock.requests.map(\.url.path) == ["/held", "/next"])
    }

    @Test("the manager's retries and decoder apply to every request, inside the base URL or not")
    func everywhere() async throws {
        struct Cat: Decodable, Sendable { let catName: String }
        let rig = Rig {
            $0.retryControl = CounterRetryControl(maxRetryCount: 1)
            $0.jsonDecoder.keyDecodingStrategy = .convertFromSnakeCase
        }
        for place in ["//mock.test/x", "//other.test/x"] {
            rig.mock.on(.get, place, replies: [.status(503), .json(["cat_name": "Fluffles"])])
        }
        for place in ["x", "https://other.test/x"] {
            #expect(try await rig.ness.httpRequest(withUrl: place).dataRequest(decoding: Cat.self).value.catName == "Fluffles")
        }
        #expect(rig.mock.requests.count == 4)
    }

    @Test("a User-Agent can be set for all requests, can be read, and can be overridden by a request")
    func userAgent() async throws {
        try await withServer(configure: { $0.defaultHeaders = ["User-Agent": "Cats/1.0"] }) { server, ness in
            _ = try await ness.httpRequest(withUrl: "x").dataRequest().value
            _ = try await ness.httpRequest(withUrl: "x").set(headers: ["User-Agent": "Dogs/2.0"]).dataRequest().value
            #expect(server.requests.map { $0.headers.values(for: "user-agent") } == [["Cats/1.0"], ["Dogs/2.0"]])
            #expect(ness.environment.defaultHeaders["User-Agent"] == "Cats/1.0")
        }
    }

    @Test("a manager with the same configuration but no loaders sends without hooks")
    func withoutHooks() async throws {
        let rig = Rig(onUnmatched: .reply(.text("x"))) { $0.loaders = [.modifyRequest { $0.headers["X-Hook"] = "1" }] }
        let bare = Ness {
            $0 = rig.ness.configuration
            $0.loaders = []
        }
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        _ = try await bare.httpRequest(withUrl: "x").dataRequest().value
        let text = try await onThread { Result { try bare.httpRequest(withUrl: "x").dataRequest().wait(timeout: .seconds(60)) } }.get()
        #expect(text.message.text == "x")
        #expect(rig.mock.requests.map { $0.headers["X-Hook"] } == ["1", nil, nil])
        #expect(rig.mock.requests.allSatisfy { $0.url.absoluteString == "https://mock.test/x" })
    }
}
