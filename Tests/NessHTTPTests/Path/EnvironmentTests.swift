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

    @Test("without a base URL a relative URL is an error, an absolute one is not")
    func homeless() async throws {
        let rig = try Self.rig()
        rig.ness.environment = ServerEnvironment()
        #expect(await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()?.kind == .invalidRequest)
        _ = try await rig.ness.httpRequest(withUrl: "https://one.test/v1/x").dataRequest().value
        #expect(Self.sent(rig.mock) == ["one.test - -"])
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

    @Test("a URL outside the base URL gets neither credentials nor secret default headers")
    func outside() async throws {
        let rig = try Self.rig {
            $0.secretNames = ["X-API-Key"]
            $0.defaultHeaders.add("en", for: "Accept-Language")
        }
        for text in ["https://one.test/v1/x", "https://one.test/v10/x", "https://two.test/v1/x"] {
            _ = try await rig.ness.httpRequest(withUrl: text).dataRequest().value
        }
        #expect(Self.sent(rig.mock) == ["one.test one one", "one.test - -", "two.test - -"])
        #expect(rig.mock.requests.allSatisfy { $0.headers["Accept-Language"] == "en" })
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

    @Test("URL, header and credential always belong to one environment, whenever the switch happens")
    func concurrent() async throws {
        let rig = try Self.rig()
        let environments = try ["one", "two"].map(Self.environment)
        await onThreads(4) { thread in
            for index in 0..<250 {
                if thread == 0 {
                    rig.ness.environment = environments[index % 2]
                } else {
                    _ = try? rig.ness.httpRequest(.post, withUrl: "x").dataRequest().wait(timeout: .seconds(60))
                }
            }
        }
        let sent = Self.sent(rig.mock)
        #expect(sent.count == 750)
        #expect(sent.allSatisfy { $0 == "one.test one one" || $0 == "two.test two two" })
    }

    @Test("any request can get an environment with its credential; its own header fields win")
    func givenEnvironment() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let environment = ServerEnvironment(
            baseURL: try url("https://mock.test"), defaultHeaders: ["A": "default", "B": "default"],
            authentication: BearerAuthentication(token: "token"))
        let plain = rig.ness.httpRequest(withUrl: "https://other.test/x").set(headers: ["b": "own"])
        _ = try await plain.dataRequest().value
        _ = try await plain.set(environment: environment).dataRequest().value
        _ = try await plain.set(environment: environment).authenticate().dataRequest().value
        let seen = rig.mock.requests.map { request in
            ["A", "B", "Authorization"].map { request.headers[$0] ?? "-" }.joined(separator: " ")
        }
        #expect(seen == ["- own -", "default own -", "default own Bearer token"])
    }
}
