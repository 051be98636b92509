import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn) struct EnvironmentTests {
    private static func environment(_ name: String) throws -> ServerEnvironment {
        ServerEnvironment(
            baseURL: try url("https://\(name).test/v1"), defaultHeaders: ["X-API-Key": name],
            authentication: BearerAuthentication(token: name))
    }

    private static func rig(_ configure: (inout Ness.Configuration) -> Void = { _ in }) throws -> Rig {
        let environment = try environment("one")
        return Rig(onUnmatched: .reply(.status(200))) {
            $0.baseURL = environment.baseURL
            $0.defaultHeaders = environment.defaultHeaders
            $0.authentication = environment.authentication
            configure(&$0)
        }
    }

    /// Host, default header and credential of what was sent.
    private static func sent(_ mock: MockTransport) -> [String] {
        mock.requests.map { request in
            let token = request.headers["Authorization"]?.replacing("Bearer ", with: "") ?? "-"
            return "\(request.url.host ?? "") \(request.headers["X-API-Key"] ?? "-") \(token)"
        }
    }

    @Test(
        "a switch of the environment replaces base URL, default headers and credentials, even for existing builders")
    func switching() async throws {
        let rig = try Self.rig()
        let before = rig.ness.httpRequest(withUrl: "x")
        let authenticated = before.authenticate()
        _ = try await before.dataRequest().value
        rig.ness.environment = try Self.environment("two")
        _ = try await before.dataRequest().value
        _ = try await authenticated.dataRequest().value
        rig.ness.environment = ServerEnvironment(baseURL: try url("https://three.test"))
        _ = try await before.dataRequest().value
        _ = try await authenticated.dataRequest().value
        #expect(
            Self.sent(rig.mock) == ["one.test one one", "two.test two two", "two.test two two", "three.test - -", "three.test - -"])
        #expect(rig.mock.requests.map(\.url.path) == ["/v1/x", "/v1/x", "/v1/x", "/x", "/x"])
    }

    @Test("a running request keeps its environment in its attempts and redirects")
    func running() async throws {
        let reached = TestGate(), goOn = TestGate()
        let rig = try Self.rig()
        let replies = Lock<[Reply]>([.status(503), .status(302, headers: ["Location": "/v1/y"])])
        rig.mock.on(.get, "//one.test/v1/x") { _ in
            reached.open()
            await goOn.wait()
            return replies.withLock { $0.removeFirst() }
        }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest(with: CounterRetryControl(maxRetryCount: 1))
        await reached.wait()
        rig.ness.environment = try Self.environment("two")
        goOn.open()
        _ = try await promise.value
        #expect(Self.sent(rig.mock) == ["one.test one one", "one.test one one", "one.test one one"])
        #expect(rig.mock.requests.map(\.url.path) == ["/v1/x", "/v1/x", "/v1/y"])
    }

    @Test("a 401 after the switch is handled with the credentials of the request's start")
    func renewal() async throws {
        let rig = try Self.rig {
            $0.authentication = RefreshableAuthentication(credential: "old") {
                ["Authorization": $0]
            } refresh: { _, _ in
                "new"
            }
        }
        let reached = TestGate(), goOn = TestGate()
        rig.mock.on(.get, "//one.test/v1/x") { request in
            reached.open()
            await goOn.wait()
            return request.headers["Authorization"] == "new" ? .text("in") : .status(401)
        }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await reached.wait()
        rig.ness.environment = try Self.environment("two")
        goOn.open()
        #expect(try await promise.value.message.text == "in")
        #expect(Self.sent(rig.mock) == ["one.test one old", "one.test one new"])
    }

    @Test("the request's own header wins, once; a default with several values is sent completely")
    func ownHeaders() async throws {
        let rig = try Self.rig { $0.defaultHeaders = ["A": "default", "B": "1", "b": "2"] }
        _ = try await rig.ness.httpRequest(withUrl: "x").set(headers: ["a": "own"]).dataRequest().value
        #expect(rig.mock.requests.first?.headers.values(for: "A") == ["own"])
        #expect(rig.mock.requests.first?.headers.values(for: "B") == ["1", "2"])
    }

    @Test("a request may have its own environment")
    func ownEnvironment() async throws {
        let rig = try Self.rig()
        let builder = rig.ness.httpRequest(withUrl: "x").set(environment: try Self.environment("own"))
        _ = try await builder.dataRequest().value
        rig.ness.environment = try Self.environment("two")
        _ = try await builder.dataRequest().value
        _ = try await builder.set(environment: nil).dataRequest().value
        #expect(Self.sent(rig.mock) == ["own.test own own", "own.test own own", "two.test two two"])
    }

    @Test("a request that a hook makes uses the environment of the original request")
    func hooks() async throws {
        let target = try url("login")
        let rig = try Self.rig {
            $0.insert(
                .followUp { response in response.url.path == "/v1/x" ? .send(HTTPRequest(url: target)) : .accept }, at: .call)
        }
        rig.ness.environment = try Self.environment("two")
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        #expect(Self.sent(rig.mock) == ["two.test two two", "two.test two two"])
        #expect(rig.mock.requests.map(\.url.path) == ["/v1/x", "/v1/login"])
    }
}
