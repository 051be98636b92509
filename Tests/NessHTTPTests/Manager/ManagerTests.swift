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
}
