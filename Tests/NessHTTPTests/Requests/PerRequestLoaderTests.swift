import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Loaders, observers and limits that one request brings.
@Suite(.inTurn(.withoutSockets)) struct PerRequestLoaderTests {
    private struct Named: RequestObserver {
        let name: String
        let log: Log<String>
        func requestDidStart(_ request: HTTPRequest) { log.add("\(name) start \(request.url.lastPathComponent)") }
        func requestDidEnd(_ request: HTTPRequest) { log.add("\(name) end \(request.url.lastPathComponent)") }
    }

    private static func mark(_ text: String) -> any HTTPLoader {
        .modifyRequest { request in request.headers["X-Order"] = (request.headers["X-Order"] ?? "") + text }
    }

    @Test("a request's loaders run for it alone, in order, for every attempt, after the manager's and before the credential")
    func loaders() async throws {
        let credential = ClosureLoader.modifyRequest { #expect($0.headers["Authorization"] == nil) }
        let rig = Rig {
            $0.loaders = [Self.mark("m")]
            $0.authentication = BearerAuthentication(token: "t")
        }
        rig.mock.on(.get, "/:x", replies: [.status(503), .status(200), .status(200)])
        let request = rig.ness.httpRequest(withUrl: "x").add(loaders: [Self.mark("1"), Self.mark("2")]).add(loaders: [
            Self.mark("3"), credential,
        ])
        _ = try await request.dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        _ = try await rig.ness.httpRequest(withUrl: "y").dataRequest().value
        #expect(rig.mock.requests.map { $0.headers["X-Order"] } == ["m123", "m123", "m"])
        #expect(rig.mock.requests.allSatisfy { $0.headers["Authorization"] == "Bearer t" })
    }

    @Test("a request's observers see its events after the manager's, and those of no other request")
    func observers() async throws {
        let log = Log<String>()
        let rig = Rig(onUnmatched: .reply(.status(200))) { $0.observers = [Named(name: "manager", log: log)] }
        _ = try await rig.ness.httpRequest(withUrl: "a").add(observer: Named(name: "own", log: log)).dataRequest().value
        _ = try await rig.ness.httpRequest(withUrl: "b").dataRequest().value
        #expect(
            log.entries == [
                "manager start a", "own start a", "manager end a", "own end a", "manager start b", "manager end b",
            ])
        rig.ness.observers = []
        _ = try await rig.ness.httpRequest(withUrl: "c").add(observer: Named(name: "1", log: log)).add(observer: Named(name: "2", log: log))
            .dataRequest().value
        #expect(log.entries.suffix(4) == ["1 start c", "2 start c", "1 end c", "2 end c"])
    }

    @Test("a request's size limit replaces the manager's: lower, higher or none")
    func sizes() async throws {
        let rig = Rig(onUnmatched: .reply(.text(String(repeating: "x", count: 100)))) { $0.maximumResponseBytes = 50 }
        let request = rig.ness.httpRequest(withUrl: "x")
        #expect(await request.dataRequest().nessError()?.kind == .responseTooLarge)
        #expect(await request.set(maximumResponseBytes: 99).dataRequest().nessError()?.kind == .responseTooLarge)
        #expect(try await request.set(maximumResponseBytes: 100).dataRequest().value.responseData.count == 100)
        #expect(try await request.set(maximumResponseBytes: nil).dataRequest().value.responseData.count == 100)
        let stream = request.set(maximumResponseBytes: 10).streamRequest()
        await #expect(throws: NessError.self) { for try await _ in stream.chunks {} }
    }

    @Test("a request with a lower limit does not fail an equal request that runs at the same time")
    func sizesOfEqualRequests() async throws {
        let rig = Rig(), arrived = Tally(), go = TestGate()
        rig.mock.on(.get, "/x") { _ in
            arrived.enter()
            await go.wait()
            return .text(String(repeating: "x", count: 100))
        }
        let request = rig.ness.httpRequest(withUrl: "x")
        let small = request.set(maximumResponseBytes: 10).dataRequest()
        let large = request.dataRequest()
        await arrived.wait(for: 2)
        go.open()
        #expect(await small.nessError()?.kind == .responseTooLarge)
        #expect(try await large.value.responseData.count == 100)
    }

    @Test(
        "a request without cookies sends and stores no cookies, even on redirects, and shares no exchange with one that has them")
    func cookies() async throws {
        let jar = CookieJar(), arrived = Tally(), go = TestGate()
        let rig = Rig { $0.cookies = jar }
        rig.mock.on(.get, "/set", replies: [.status(302, headers: ["Set-Cookie": "a=1", "Location": "/end"])])
        rig.mock.on(.get, "/end", replies: [.status(200, headers: ["Set-Cookie": "b=2"])])
        let request = rig.ness.httpRequest(withUrl: "set")
        _ = try await request.withoutCookies().dataRequest().value
        _ = try await rig.ness.httpRequest(withUrl: "end").withoutCookies().set(headers: ["Cookie": "own=1"]).dataRequest().value
        #expect(rig.mock.requests.map { $0.headers["Cookie"] } == [nil, nil, "own=1"])
        #expect(jar.cookies.isEmpty)
        rig.mock.on(.get, "/x") { _ in
            arrived.enter()
            await go.wait()
            return .status(200, headers: ["Set-Cookie": "c=3"])
        }
        let without = rig.ness.httpRequest(withUrl: "x").withoutCookies().dataRequest()
        let with = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await arrived.wait(for: 2)
        go.open()
        _ = try await (without.value, with.value)
        #expect(jar.cookies.map(\.name) == ["c"])
    }
}
