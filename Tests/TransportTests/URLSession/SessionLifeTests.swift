import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The making and the end of URLSessions, and the check of certificates that belongs to them, with a fake session in place of Apple's.
@Suite(.inTurn(.withoutSockets)) struct SessionLifeTests {
    private let system = FakeSystem()

    private func pinned(_ text: String = "https://pinned.test/") throws -> HTTPRequest {
        var request = HTTPRequest(url: try url(text))
        request.tlsDemands = TLSDemands(publicKeys: ["key"])
        return request
    }

    private func challenge(hasKey: Bool = true, _ decision: ChallengeAnswer? = nil) -> SessionChallenge {
        var challenge = SessionChallenge(method: "NSURLAuthenticationMethodServerTrust")
        challenge.hasKey = { [hasKey] in hasKey && $0 == ["key"] }
        if let decision { challenge.decide = { decision } }
        return challenge
    }

    // MARK: the check of certificates

    @Test(
        "a response of a pinned host without a challenge is rejected: the connection resumed another session's TLS session",
        arguments: 0..<4)
    func resumedTLS(event: Int) async throws {
        let received = Received(system.transport(), try pinned()), task = await system.task()
        switch event {
        case 0: try task.head(200)
        case 1: try task.interim(103)
        case 2: try await task.redirect(302, to: "/b")
        default:
            // The head was withheld, and the connection broke.
            try task.know(200)
            task.complete(NSURLErrorNetworkConnectionLost)
        }
        task.body("secret")
        let error = await received.transportError()
        #expect(received.events.entries.isEmpty)
        #expect(event == 3 ? error?.kind == .connectionLost : error?.tlsFailure == .pinMismatch)
    }

    @Test("a checked certificate counts for later connections of the origin, even after its session has ended, and for no other origin")
    func checkedOnce() async throws {
        let transport = system.transport()
        let first = Received(transport, try pinned()), task = await system.task()
        #expect(await task.challenge(challenge()) == "systemDefault")
        try task.head(200)
        task.complete()
        #expect(await first.error() == nil)
        await system.scheduled.wait(for: 1)
        system.passTime(0)
        #expect(system.ends.entries.count == 1)

        let second = Received(transport, try pinned()), later = await system.task(1)
        try later.head(200)
        later.complete()
        #expect(await second.error() == nil && system.sessions.entries.count == 2)

        let other = Received(transport, try pinned("https://other.test/")), foreign = await system.task(2)
        try foreign.head(200)
        #expect(await other.transportError()?.tlsFailure == .pinMismatch)
    }

    @Test("a certificate that a rule or the closure rejects cancels the task, and the error is that of TLS", arguments: [true, false])
    func rejected(byRule: Bool) async throws {
        let received = Received(system.transport(), try pinned()), task = await system.task()
        #expect(await task.challenge(challenge(hasKey: !byRule, .cancel)) == "cancel")
        task.complete(NSURLErrorCancelled)
        let error = await received.transportError()
        #expect(error?.tlsFailure == .pinMismatch && error?.reason.contains(byRule ? "not pinned" : "closure") == true)
    }

    @Test("without demands and without a closure, the system decides about certificates, and no response is rejected")
    func noDemands() async throws {
        let received = Received(system.transport(), HTTPRequest(url: try url("https://example.com/"))), task = await system.task()
        #expect(await task.challenge(SessionChallenge(method: "NSURLAuthenticationMethodServerTrust")) == "systemDefault")
        try task.head(200)
        task.complete()
        #expect(await received.error() == nil)
    }

    // MARK: the end of sessions

    @Test("an exchange that ends while its task is made is released once the task has ended, with all that it holds")
    func endedAtTheStart() async throws {
        let source = system.source(), exchange = Lock<URLSessionExchange?>(nil)
        var control: FakeControl? = FakeControl { exchange.withLock { $0 }?.cancel(CancellationError()) }
        weak let held = control
        let request = HTTPRequest(url: try url("https://example.com/"))
        exchange.withLock { $0 = URLSessionExchange(request, streaming: nil, under: control, over: source) }
        control = nil
        let session = ExchangeSession(source, open: OpenSessions())
        session.configure { .ephemeral }
        ExchangeSession.startQueue.sync {
            guard let exchange = exchange.withLock({ $0 }) else { return }
            session.start(exchange, URLRequest(url: request.url), isLast: true)
        }
        let task = await system.task()
        URLSessionExchange.cancelQueue.sync {}
        #expect(Set(task.calls.entries) == ["resume", "cancel"] && held != nil)
        task.complete(NSURLErrorCancelled)
        exchange.withLock { $0 = nil }
        #expect(held == nil)
    }

    @Test("a shutdown that gives up on a session leaves it to be waited for by the next one")
    func lostSession() async {
        let open = OpenSessions()
        #expect(open.begin())
        open.close()
        await open.waitUntilNone(atMost: .zero)
        #expect(!open.begin() && !open.allEnded.isCompleted)
        open.end()
        await open.waitUntilNone(atMost: .seconds(60))
        #expect(open.allEnded.isCompleted)
    }

    @Test("the session of a pinned origin ends after five minutes without a request, but not during one or if one came in the meantime")
    func idle() async throws {
        let transport = system.transport()
        func exchange(_ number: Int) async throws -> (Received, FakeTask) {
            let received = Received(transport, try pinned()), task = await system.task(number)
            if number == 0 { await task.challenge(challenge()) }
            try task.head(200)
            return (received, task)
        }
        let (first, task) = try await exchange(0)
        task.complete()
        #expect(await first.error() == nil)
        await system.scheduled.wait(for: 1)
        // During a request nothing ends.
        let (second, running) = try await exchange(1)
        system.passTime(0)
        #expect(system.ends.entries.isEmpty && system.scheduled.entries.count == 1)
        running.complete()
        #expect(await second.error() == nil)
        await system.scheduled.wait(for: 2)
        // A request came after the time had started.
        let (third, last) = try await exchange(2)
        last.complete()
        #expect(await third.error() == nil)
        system.passTime(1)
        #expect(system.ends.entries.isEmpty)
        await system.scheduled.wait(for: 3)
        system.passTime(2)
        #expect(system.ends.entries.count == 1 && system.sessions.entries.count == 1)
        #expect(system.delays.entries == Array(repeating: Duration.seconds(300), count: 3))
    }

    @Test("a transport that is dropped while a request starts ends its URLSession only after the task was made")
    func dropDuringStart() async throws {
        let request = HTTPRequest(url: try url("https://example.com/")), entered = TestGate(), proceed = DispatchSemaphore(value: 0)
        // Stops the request between the choice of its URLSession and the making of its task.
        let control = FakeControl {
            entered.open()
            proceed.wait()
        }
        var transport: URLSessionTransport? = system.transport()
        weak var dropped: URLSessionTransport?
        dropped = transport
        let first = Received(try #require(transport), request), task = await system.task()
        try task.head(200)
        task.complete()
        #expect(await first.error() == nil)
        let sending = Task { [transport] in try await transport?.send(request, under: control) { _ in } }
        await entered.wait()
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        transport = nil
        // The end of the task releases what it has captured, perhaps a moment later.
        while dropped != nil { await Task.yield() }
        proceed.signal()
        let second = await system.task(1)
        await second.calls.wait { $0.contains("cancel") }
        await system.ends.wait(for: 1)
    }

    @Test("a request after the shutdown fails, and one that is about to start comes before it")
    func shutdown() async throws {
        let transport = system.transport(), request = HTTPRequest(url: try url("https://example.com/"))
        let received = Received(transport, request), task = await system.task()
        await transport.shutdown()
        #expect(system.ends.entries.count == 1)
        // URLSession ends after its tasks.
        try task.head(200)
        task.complete()
        #expect(await received.error() == nil)
        let late = await Received(transport, request).transportError()
        #expect(late?.reason == TransportError.afterShutdown.reason && system.tasks.entries.count == 1)
    }

    @Test("the closure that configures sessions runs without a lock, and may use the same transport")
    func configure() async throws {
        let own = Lock<SessionPool?>(nil), used = Tally(), request = try pinned()
        let transport = system.transport { _ in
            if let pool = own.withLock({ $0 }) {
                _ = pool.session(for: request, isOwn: false)
                used.enter()
            }
        }
        own.withLock { $0 = transport.sessions }
        let received = Received(transport, request), task = await system.task()
        #expect(used.total == 1)
        await task.challenge(challenge())
        try task.head(200)
        task.complete()
        #expect(await received.error() == nil)
        own.withLock { $0 = nil }
    }
}
