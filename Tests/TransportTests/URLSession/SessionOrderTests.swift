import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Orders of events that URLSession has on Apple platforms, and that Foundation on Linux never shows. A fake session plays them.
@Suite(.inTurn(.withoutSockets)) struct SessionOrderTests {
    private let system = FakeSystem()

    private func request(_ text: String = "https://example.com/") throws -> HTTPRequest { HTTPRequest(url: try url(text)) }

    // MARK: suspended tasks

    @Test(
        "bytes that arrive after the task was suspended wait in a file, and the task resumes when they are taken", arguments: [false, true])
    func dataAfterSuspend(endsWhileSuspended: Bool) async throws {
        let piece = Data(repeating: 7, count: 64 << 10), pieceCount = 100, go = TestGate()
        let suspended = Lock(0), count = Lock(0)
        let received = Received(system.transport(), try request()) { [system] event in
            guard case .body(let data) = event else { return }
            await go.wait()
            count.withLock { $0 += data.count }
            // The last bytes may be taken before the task resumes.
            if system.tasks.entries[0].calls.entries.last == "suspend" { suspended.withLock { $0 += data.count } }
        }
        let task = await system.task()
        try task.head(200)
        for _ in 0..<pieceCount { task.body(piece) }
        #expect(task.calls.entries == ["resume", "suspend"])
        if endsWhileSuspended { task.complete() }
        go.open()
        if !endsWhileSuspended {
            await task.calls.wait { $0.last == "resume" && $0.count == 3 }
            task.body(piece)
            task.complete()
        }
        #expect(await received.error() == nil)
        #expect(count.withLock { $0 } == (pieceCount + (endsWhileSuspended ? 0 : 1)) * piece.count)
        // A task that has ended is not resumed.
        #expect(task.calls.entries == (endsWhileSuspended ? ["resume", "suspend"] : ["resume", "suspend", "resume"]))
        // It stays suspended while bytes wait in the file.
        #expect(suspended.withLock { $0 } > pieceCount * piece.count / 2)
    }

    @Test("a suspended task that receives more than the file may hold is canceled, and the reader fell behind")
    func fellBehind() async throws {
        let go = TestGate()
        let received = Received(system.transport(spillLimit: 1 << 20), try request()) { event in
            if case .body = event { await go.wait() }
        }
        let task = await system.task()
        try task.head(200)
        for _ in 0..<100 { task.body(Data(count: 64 << 10)) }
        go.open()
        #expect(await received.error() is ReceiverFellBehind)
        await task.calls.wait { $0.contains("cancel") }
        task.body(Data(count: 1))
        task.complete(NSURLErrorCancelled)
    }

    // MARK: bodies, redirects, challenges

    @Test("each stream that URLSession asks for starts at the beginning of the body")
    func newBodyStreams() async throws {
        var post = try request()
        post.method = .put
        let whole = patternedData(2 << 20)
        let read: @Sendable (Int64, Int) throws -> Data = { offset, count in Data(whole.dropFirst(Int(offset)).prefix(count)) }
        post.body = HTTPBody(segments: [.stored(length: Int64(whole.count), read: read)], headers: [:])
        let received = Received(system.transport(), post)
        let task = await system.task()
        #expect(task.isStreamed && task.request.value(forHTTPHeaderField: "Content-Length") == "\(whole.count)")
        for _ in 0..<2 {
            let stream = try #require(task.makeBodyStream())
            stream.open()
            var bytes = [UInt8](repeating: 0, count: 100)
            #expect(stream.read(&bytes, maxLength: 100) == 100 && Data(bytes) == whole.prefix(100))
            stream.close()
        }
        try task.head(200)
        task.complete()
        #expect(await received.error() == nil && received.events.entries == ["head 200"])
    }

    #if canImport(FoundationNetworking)
    @Test("a stream that URLSession has closed no longer holds the body")
    func closedStream() {
        weak var held: HTTPBodyReader?
        let stream: BodyInputStream
        do {
            let reader = HTTPBody(Data("x".utf8)).makeReader()
            held = reader
            stream = BodyInputStream(reader) { _ in }
        }
        #expect(held != nil)
        stream.close()
        withExtendedLifetime(stream) { #expect(held == nil) }
    }
    #endif

    @Test(
        "a redirect is rejected, and its response is the result, even if URLSession does not report it again", arguments: [true, false])
    func redirect(isReported: Bool) async throws {
        let received = Received(system.transport(), try request())
        let task = await system.task()
        try await task.redirect(302, to: "/b")
        if isReported {
            try task.head(302, ["Location": "/b"])
            task.body("moved")
        }
        task.complete()
        #expect(await received.error() == nil && received.events.entries == (isReported ? ["head 302", "moved"] : ["head 302"]))
    }

    @Test(
        "a 401 is a response, with its body, whether or not URLSession asks for a credential before",
        arguments: [nil, "HTTPBasic", "HTTPDigest", "NTLM"])
    func unauthorized(_ method: String?) async throws {
        let received = Received(system.transport(), try request())
        let task = await system.task()
        if let method {
            #expect(await task.challenge(SessionChallenge(method: "NSURLAuthenticationMethod\(method)")) == "reject")
        }
        try task.head(401)
        task.body("who")
        task.complete()
        #expect(await received.error() == nil && received.events.entries == ["head 401", "who"])
    }

    @Test("an identity that cannot be read fails the request, and the error has the system's status and the cause")
    func unreadableIdentity() async throws {
        var request = try request()
        request.tlsDemands = TLSDemands(identity: ClientIdentity(pkcs12: Data(), password: ""))
        let received = Received(system.transport(), request)
        let task = await system.task()
        var challenge = SessionChallenge(method: "NSURLAuthenticationMethodClientCertificate")
        challenge.credential = { _ in throw UnreadableIdentity(status: -25_293) }
        #expect(await task.challenge(challenge) == "cancel")
        task.complete(NSURLErrorCancelled)
        let error = await received.transportError()
        #expect(error?.tlsFailure == .clientCertificate)
        for part in ["-25293", "PBE-SHA1-3DES"] { #expect(error?.reason.contains(part) == true) }
        #expect(
            UnreadableIdentity(status: -50).description.contains("-50") && !UnreadableIdentity(status: 0).description.contains("OSStatus"))
    }

    // MARK: ends

    @Test("measurements and counts of sent bytes that arrive after the end have no effect; before it, they are events")
    func metrics() async throws {
        let transport = system.transport()
        for (number, isLate) in [false, true].enumerated() {
            let received = Received(transport, try request()), task = await system.task(number)
            try task.head(200)
            if isLate { task.complete() }
            task.sent(3)
            task.measured()
            if !isLate { task.complete() }
            let events = isLate ? ["head 200"] : ["head 200", "sent 3", "connection"]
            #expect(await received.error() == nil && received.events.entries == events)
        }
    }

    @Test("a head that URLSession withheld from a body that broke off is reported, and the body is truncated", arguments: [true, false])
    func withheldHead(isKnown: Bool) async throws {
        let received = Received(system.transport(), try request()), task = await system.task()
        if isKnown { try task.know(200) }
        task.complete(NSURLErrorNetworkConnectionLost)
        let error = await received.transportError()
        #expect(error?.kind == (isKnown ? .truncated : .connectionLost))
        #expect(received.events.entries == (isKnown ? ["head 200"] : []))
    }

    @Test("an exchange that the pipeline stops ends with the given error, and its task is canceled")
    func stopped() async throws {
        let kept = Lock<(@Sendable (any Error) -> Void)?>(nil)
        let control = FakeControl(takeStop: { stop in kept.withLock { $0 = stop } })
        let received = Received(system.transport(), try request(), under: control), task = await system.task()
        guard let stop = kept.withLock({ $0.take() }) else {
            Issue.record("the pipeline cannot stop the exchange")
            return
        }
        stop(Rejected())
        #expect(await received.error() is Rejected)
        await task.calls.wait { $0.contains("cancel") }
        task.complete(NSURLErrorCancelled)
    }

    @Test("a canceled exchange ignores every later event of its task")
    func lateEvents() async throws {
        let received = Received(system.transport(), try request()), task = await system.task()
        received.cancel()
        #expect(await received.error() is CancellationError)
        await task.calls.wait { $0.contains("cancel") }
        try task.interim(103)
        try task.head(200)
        task.body("late")
        task.measured()
        try await task.redirect(302, to: "/b")
        task.complete(NSURLErrorCancelled)
        task.complete()
        #expect(received.events.entries.isEmpty)
    }
}
