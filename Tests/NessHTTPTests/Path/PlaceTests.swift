import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn(.withoutSockets)) struct PlaceTests {
    struct TraceKey: RequestOptionKey { static let defaultValue = "none" }
    struct LevelKey: RequestOptionKey { static let defaultValue = 0 }

    private static func logging(_ name: String, _ log: Log<String>) -> ClosureLoader {
        ClosureLoader { request, next in
            log.add(name)
            return try await next(request)
        }
    }

    @Test("the four places have a fixed order, and the request's own loaders follow the manager's at each")
    func places() async throws {
        let log = Log<String>()
        let rig = Rig(onUnmatched: .reply(.status(200))) { configuration in
            // Inserted the other way round: the places make the order.
            for place in LoaderPlace.allCases.reversed() { configuration.insert(Self.logging("\(place)", log), at: place) }
            configuration.loaders = [Self.logging("loaders", log)]
        }
        var request = rig.ness.httpRequest(withUrl: "x").add(loaders: [Self.logging("own", log)])
        for place in LoaderPlace.allCases { request = request.add(loaders: [Self.logging("own \(place)", log)], at: place) }
        _ = try await request.dataRequest().value
        let expected = [
            "call", "own call", "loaders", "attempt", "own", "own attempt", "authenticated", "own authenticated", "exchange",
            "own exchange",
        ]
        #expect(log.entries == expected)
    }

    @Test("a loader before the retries runs once, one after them for each attempt, from the original request")
    func attempts() async throws {
        let log = Log<String>()
        let rig = Rig { configuration in
            configuration.insert(Self.logging("outside", log), at: .call)
            configuration.insert(
                .modifyRequest { request in
                    request.headers.add("signed", for: "X-Signature")
                    log.add("inside \(request.headers.values(for: "X-Signature").count)")
                }, at: .attempt)
        }
        rig.mock.on(.get, "/x", replies: [.status(503), .failure(.timedOut), .status(200)])
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: CounterRetryControl(maxRetryCount: 2)).value
        #expect(log.entries == ["outside", "inside 1", "inside 1", "inside 1"])
    }

    @Test("a loader after the credentials sees them, one before does not; a loader after the redirects sees each of them")
    func sees() async throws {
        let log = Log<String>()
        let rig = Rig { configuration in
            configuration.authentication = BearerAuthentication(token: "t")
            configuration.insert(
                .modifyRequest { log.add("before \($0.headers.contains("Authorization"))") }, at: .attempt)
            configuration.insert(.modifyRequest { log.add("after \($0.headers.contains("Authorization"))") }, at: .authenticated)
            configuration.insert(.modifyRequest { log.add($0.url.path) }, at: .exchange)
        }
        rig.mock.on(.get, "/a", replies: [.status(302, headers: ["Location": "/b"])])
        rig.mock.on(.get, "/b", replies: [.status(200)])
        _ = try await rig.ness.httpRequest(withUrl: "a").dataRequest().value
        #expect(log.entries == ["before false", "after true", "/a", "/b"])
    }

    @Test("an option has its default, or the builder's value, in every attempt and redirect; it is not sent")
    func options() async throws {
        let log = Log<String>()
        let rig = Rig { configuration in
            configuration.insert(.modifyRequest { log.add("\($0[TraceKey.self]) \($0[LevelKey.self])") }, at: .exchange)
        }
        rig.mock.on(.get, "/a", replies: [.status(503), .status(302, headers: ["Location": "/b"])])
        rig.mock.on(.get, "/b", replies: [.status(200)])
        let plain = rig.ness.httpRequest(withUrl: "a")
        let traced = plain.set(option: TraceKey.self, to: "x").set(option: LevelKey.self, to: 3)
        _ = try await traced.dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        #expect(log.entries == ["x 3", "x 3", "x 3"])
        _ = try await plain.dataRequest().value
        #expect(log.entries.dropFirst(3) == ["none 0", "none 0"])
        #expect(try traced.build()[TraceKey.self] == "x")
        #expect(rig.mock.requests.allSatisfy { $0.headers.isEmpty })
    }

    @Test("a loader may set an option for the steps below it")
    func passingOn() async throws {
        let log = Log<String>()
        let rig = Rig(onUnmatched: .reply(.status(200))) { configuration in
            configuration.loaders = [.modifyRequest { $0[TraceKey.self] = "set" }, .modifyRequest { log.add($0[TraceKey.self]) }]
        }
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        #expect(log.entries == ["set"])
    }
}
