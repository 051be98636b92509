import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Stored responses in place of a server that is late, fails or cannot be reached (RFC 5861, 4).
@Suite("Stale responses", .inTurn(.withoutSockets)) struct CacheOfflineTests {
    private static let tolerant: HTTPHeaders = ["Cache-Control": "max-age=60, stale-if-error=100", "ETag": "\"1\""]

    /// A cache with one stale response, and a server that does not respond any more until the gate opens.
    private static func late(
        control: String = "max-age=60, stale-if-error=100", _ configure: (inout Ness.Configuration) -> Void = { _ in }
    ) async throws -> (CacheRig, Tally, TestGate) {
        let rig = CacheRig(configure), asked = Tally(), go = TestGate()
        rig.mock.on(.get, "/x") { _ in
            if asked.enter() > 0 { await go.wait() }
            return .text("1", headers: ["Cache-Control": control, "ETag": "\"1\""])
        }
        #expect(try await rig.get().source == .network)
        rig.advance(70)
        return (rig, asked, go)
    }

    @Test("stale-if-error counts when the deadline passes, and the response says that it is stale")
    func deadline() async throws {
        let log = Log<String>()
        let (rig, asked, go) = try await Self.late { $0.observers = [RequestLogger { log.add($0) }] }
        defer { go.open() }
        let promise = rig.ness.httpRequest(withUrl: "x").set(deadline: .seconds(5)).validate(statusCode: 200).dataRequest()
        await asked.wait(for: 2)
        rig.rig.clock.advance(by: .seconds(5))
        let response = try await promise.value.message
        #expect(response.source == .stale && response.text == "1")
        #expect(log.entries.last?.contains("\u{2192} 200 from the cache, stale (") == true, "\(log.entries)")
        await rig.rig.clock.waitUntil { $0.sleeperCount == 0 }
    }

    @Test("a stale response at the deadline passes the application's loaders and validators")
    func throughLoaders() async throws {
        let (rig, asked, go) = try await Self.late {
            $0.loaders = [.modifyResponse { $0.body += Data("+".utf8) }]
        }
        defer { go.open() }
        func promise(_ accepts: Bool) -> DataPromise {
            rig.ness.httpRequest(withUrl: "x").set(deadline: .seconds(5)).validate { _ in if !accepts { throw Rejected() } }
                .dataRequest()
        }
        let accepted = promise(true)
        await asked.wait(for: 2)
        rig.rig.clock.advance(by: .seconds(5))
        #expect(try await accepted.value.message.text == "1+")
        let rejected = promise(false)
        await asked.wait(for: 3)
        rig.rig.clock.advance(by: .seconds(5))
        #expect(await rejected.nessError()?.kind == .validation)
    }

    @Test("a loader that holds a stale response back after the deadline cannot delay the promise for more than a second")
    func heldBack() async throws {
        let holds = Lock(false), held = TestGate(), never = TestGate()
        let (rig, asked, go) = try await Self.late {
            $0.loaders = [
                .modifyResponse { _ in
                    guard holds.withLock({ $0 }) else { return }
                    held.open()
                    await never.wait()
                }
            ]
        }
        defer {
            go.open()
            never.open()
        }
        holds.withLock { $0 = true }
        let promise = rig.ness.httpRequest(withUrl: "x").set(deadline: .seconds(5)).dataRequest()
        await asked.wait(for: 2)
        rig.rig.clock.advance(by: .seconds(5))
        await held.wait()
        #expect(!promise.isCompleted)
        rig.rig.clock.advance(by: .seconds(1))
        #expect(await promise.nessError()?.kind == .timedOut)
    }

    @Test(
        "without stale-if-error, and after its time, the deadline fails the request",
        arguments: ["max-age=60", "max-age=60, stale-if-error=12"])
    func notTolerated(control: String) async throws {
        let (rig, asked, go) = try await Self.late(control: control)
        defer { go.open() }
        let promise = rig.ness.httpRequest(withUrl: "x").set(deadline: .seconds(5)).dataRequest()
        await asked.wait(for: 2)
        rig.rig.clock.advance(by: .seconds(5))
        #expect(await promise.nessError()?.kind == .timedOut)
    }

    @Test("a drop while the server is late is a drop, although there is a stale response")
    func drop() async throws {
        let (rig, asked, go) = try await Self.late()
        defer { go.open() }
        let promise = rig.ness.httpRequest(withUrl: "x").set(deadline: .seconds(5)).dataRequest()
        await asked.wait(for: 2)
        promise.drop()
        #expect(await promise.nessError()?.kind == .dropped)
        await rig.ness.reset()
    }

    // MARK: without a credential

    private struct Token: Sendable {
        var text: String
        var isOld = false
    }

    /// A signed-in user whose token has expired, and who stored a response with it.
    private static func expired(
        names user: String? = "alice", jar: CookieJar? = nil, refresh: @escaping @Sendable () async throws -> Void = {}
    ) async throws -> CacheRig {
        let session = RefreshableAuthentication(
            credential: Token(text: "a"), userIdentifier: { _ in user }, isStale: { $0.isOld }
        ) {
            ["Authorization": $0.text]
        } renew: { _, ness in
            try await refresh()
            throw NessError(
                .offline, NessError.Context(request: HTTPRequest(url: try url("https://mock.test/token")), reason: "no network"))
        }
        let rig = CacheRig { ($0.authentication, $0.cookies) = (session, jar) }
        rig.count(tolerant)
        #expect(try await rig.get().text == "1")
        session.credential = Token(text: "a", isOld: true)
        return rig
    }

    @Test(
        "offline, a user whose token has expired gets fresh responses, and stale ones that stale-if-error allows", arguments: [10, 70, 170])
    func offline(seconds: Int) async throws {
        let rig = try await Self.expired()
        rig.advance(seconds)
        if seconds < 160 {
            let response = try await rig.get()
            #expect(response.source == (seconds < 60 ? .cache : .stale) && response.text == "1")
        } else {
            let error = await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()
            #expect(error?.kind == .offline && error?.isAuthenticationFailure == true)
        }
        #expect(rig.asked == 1)
    }

    @Test("a refresh that is rejected, or an authentication that names nobody, gives no stored response", arguments: [true, false])
    func notOffline(isRejected: Bool) async throws {
        let rig = try await Self.expired(names: isRejected ? "alice" : nil) {
            if isRejected { throw Rejected() }
        }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        if isRejected {
            await #expect(throws: Rejected.self) { _ = try await promise.value }
        } else {
            #expect(await promise.nessError()?.kind == .offline)
        }
    }

    @Test("if the refresh takes longer than the deadline, the user gets the stored response, and the refresh continues")
    func lateRefresh() async throws {
        let begun = TestGate(), go = TestGate(), ended = TestGate()
        let rig = try await Self.expired {
            begun.open()
            await go.wait()
            ended.open()
        }
        rig.advance(70)
        let promise = rig.ness.httpRequest(withUrl: "x").set(deadline: .seconds(5)).dataRequest()
        try await rig.ness.waitForRequests(1, at: .refresh)
        await begun.wait()
        rig.rig.clock.advance(by: .seconds(5))
        #expect(try await promise.value.message.source == .stale)
        go.open()
        await ended.wait()
    }

    // MARK: the manager's language

    private struct Film: Codable, Sendable, Equatable {
        var filmTitle: String
        var shownAt: Date
    }

    private struct Fault: Error, Codable, Equatable { var faultCode: Int }

    @Test("responses of the cache, fresh, stale and confirmed, are decoded as the manager says, and so are its errors")
    func decoder() async throws {
        let rig = CacheRig {
            $0.jsonDecoder.keyDecodingStrategy = .convertFromSnakeCase
            $0.jsonDecoder.dateDecodingStrategy = .iso8601
            $0.decodingErrors = Fault.self
        }
        let json: HTTPHeaders = [
            "Content-Type": "application/json", "Cache-Control": "max-age=60, stale-while-revalidate=9", "ETag": "\"1\"",
        ]
        rig.mock.on(.get, "/x") { request in
            request.headers["If-None-Match"] != nil
                ? .status(304, headers: ["ETag": "\"1\""])
                : .text(#"{"film_title":"M","shown_at":"1931-05-11T00:00:00Z"}"#, headers: json)
        }
        rig.mock.on(.get, "/y") { _ in .text(#"{"fault_code":7}"#, status: 404, headers: json) }
        for (seconds, source) in [(0, HTTPResponse.Source.network), (1, .cache), (69, .revalidated), (61, .stale)] {
            rig.advance(seconds)
            let film = try await rig.ness.get("x").decodedResponse(as: Film.self)
            #expect(film.value.filmTitle == "M" && film.response.source == source)
            #expect(try film.response.parseJSONBody(Film.self) == film.value)
        }
        for _ in 0..<2 {
            let error = await rig.ness.get("y").dataRequest(decoding: Film.self).nessError()
            #expect(error?.underlying as? Fault == Fault(faultCode: 7))
        }
    }

    @Test("offline, the user's responses are found even if a jar has cookies for the URL")
    func offlineWithCookies() async throws {
        let jar = CookieJar()
        jar.insert(try #require(Cookie(name: "session", value: "1", domain: "mock.test")))
        #expect(try await Self.expired(jar: jar).get().source == .cache)
    }
}
