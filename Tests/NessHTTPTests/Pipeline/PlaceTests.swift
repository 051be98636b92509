import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite(.inTurn) struct PlaceTests {
    struct TraceKey: RequestOptionKey { static let defaultValue = "none" }
    struct LevelKey: RequestOptionKey { static let defaultValue = 0 }

    private static func logging(_ name: String, _ log: Log<String>) -> ClosureLoader {
        ClosureLoader { request, next in
            log.add(name)
            return try await next(request)
        }
    }

    @Test("a loader can be placed before and after each stage, even if the manager leaves the stage out; outermost first")
    func places() async throws {
        let log = Log<String>()
        let rig = Rig(onUnmatched: .reply(.status(200))) { configuration in
            // Inserted the other way round: the places make the order.
            for stage in PipelineStage.allCases.reversed() {
                configuration.insert(Self.logging("after \(stage)", log), .after(stage))
                configuration.insert(Self.logging("before \(stage)", log), .before(stage))
            }
            configuration.loaders = [Self.logging("loaders", log)]
        }
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        let stages = [
            "observe", "deadline", "retry", "environment", "authenticate", "cookies", "cache", "coalesce", "download", "redirect",
            "redirectCookies", "check", "circuitBreaker", "throttle", "hostQueue", "timers",
        ]
        var expected = stages.flatMap { ["before \($0)", "after \($0)"] }
        expected.insert("loaders", at: try #require(expected.firstIndex(of: "before authenticate")))
        #expect(log.entries == expected)
    }

    @Test("loaders at one place run in the order in which they were inserted")
    func order() async throws {
        let log = Log<String>()
        let rig = Rig(onUnmatched: .reply(.status(200))) { configuration in
            for name in ["a", "b", "c"] { configuration.insert(Self.logging(name, log), .after(.redirect)) }
        }
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        #expect(log.entries == ["a", "b", "c"])
    }

    @Test("a loader before the retries runs once, one after them for each attempt, from the original request", .covers("C10"))
    func attempts() async throws {
        let log = Log<String>()
        let rig = Rig { configuration in
            configuration.insert(Self.logging("outside", log), .before(.retry))
            configuration.insert(
                .modifyRequest { request in
                    request.headers.add("signed", for: "X-Signature")
                    log.add("inside \(request.headers.values(for: "X-Signature").count)")
                }, .after(.retry))
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
                .modifyRequest { log.add("before \($0.headers.contains("Authorization"))") }, .before(.authenticate))
            configuration.insert(.modifyRequest { log.add("after \($0.headers.contains("Authorization"))") }, .after(.authenticate))
            configuration.insert(.modifyRequest { log.add($0.url.path) }, .after(.redirect))
        }
        rig.mock.on(.get, "/a", replies: [.status(302, headers: ["Location": "/b"])])
        rig.mock.on(.get, "/b", replies: [.status(200)])
        _ = try await rig.ness.httpRequest(withUrl: "a").dataRequest().value
        #expect(log.entries == ["before false", "after true", "/a", "/b"])
    }

    @Test("an option has its default, or the builder's value, in every attempt and redirect; it is not sent", .covers("PMH-32", "HIS-14"))
    func options() async throws {
        let log = Log<String>()
        let rig = Rig { configuration in
            configuration.insert(.modifyRequest { log.add("\($0[TraceKey.self]) \($0[LevelKey.self])") }, .after(.redirect))
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

    @Test("a loader may set an option for the stages below it")
    func passingOn() async throws {
        let log = Log<String>()
        let rig = Rig(onUnmatched: .reply(.status(200))) { configuration in
            configuration.loaders = [.modifyRequest { $0[TraceKey.self] = "set" }, .modifyRequest { log.add($0[TraceKey.self]) }]
        }
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        #expect(log.entries == ["set"])
    }
}
