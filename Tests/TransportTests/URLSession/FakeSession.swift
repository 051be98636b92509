import Foundation
import NessLock
import TestSupport
import Testing

@testable import NessHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A task of a `FakeSession`. A test plays the events that URLSession would report.
final class FakeTask: SessionTask {
    let request: URLRequest
    let isStreamed: Bool
    /// The calls of the transport, in order.
    let calls = Log<String>()
    private let session: FakeSession
    private let known = Lock<URLResponse?>(nil)

    init(_ request: URLRequest, _ isStreamed: Bool, _ session: FakeSession) {
        (self.request, self.isStreamed, self.session) = (request, isStreamed, session)
    }

    var response: URLResponse? { known.withLock { $0 } }
    func describe(_ description: String?, _ priority: RequestPriority) {}
    func resume() {
        calls.add("resume")
        // URLSession reports nothing before, so no test may.
        if calls.entries.count(where: { $0 == "resume" }) == 1 { session.resumed(self) }
    }
    func suspend() { calls.add("suspend") }
    func cancel() { calls.add("cancel") }

    // MARK: what URLSession reports

    /// Sets the response that the task knows, without reporting it.
    @discardableResult
    func know(_ status: Int, _ headers: [String: String] = [:]) throws -> HTTPURLResponse {
        let url = try #require(request.url)
        let made = try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: headers))
        known.withLock { $0 = made }
        return made
    }

    func head(_ status: Int, _ headers: [String: String] = [:]) throws { session.events.received(try know(status, headers), by: self) }
    func interim(_ status: Int) throws { session.events.receivedInterim(try know(status), by: self) }
    func body(_ data: Data) { session.events.exchange(for: self)?.received(data) }
    func body(_ text: String) { body(Data(text.utf8)) }
    func sent(_ total: Int64) { session.events.exchange(for: self)?.sent(total) }
    func measured() { session.events.exchange(for: self)?.measured(ConnectionMetrics(isReused: true), hasBegun: true) }
    func complete(_ code: Int? = nil) {
        session.events.completed(code.map { NSError(domain: NSURLErrorDomain, code: $0) }, by: self)
    }
    func makeBodyStream() -> InputStream? { session.events.exchange(for: self)?.makeBodyStream() }

    /// Reports a redirect. Returns when the transport has refused it.
    func redirect(_ status: Int, to location: String) async throws {
        let response = try know(status, ["Location": location])
        await withCheckedContinuation { continuation in
            session.events.redirected(response, by: self) { continuation.resume() }
        }
    }

    /// Reports a challenge, and returns the name of the answer.
    @discardableResult
    func challenge(_ challenge: SessionChallenge) async -> String {
        await withCheckedContinuation { continuation in
            session.events.challenged(challenge, by: self) { continuation.resume(returning: "\($0)") }
        }
    }
}

/// A URLSession as on Apple platforms, without a network.
final class FakeSession: SessionDriver {
    let events: ExchangeSession
    private let source: FakeSystem
    private let isInvalidated = Lock(false)

    init(_ events: ExchangeSession, _ source: FakeSystem) { (self.events, self.source) = (events, source) }

    func makeTask(_ request: URLRequest, isStreamed: Bool) -> any SessionTask {
        // URLSession raises an exception, which ends the process.
        if isInvalidated.withLock({ $0 }) { Issue.record("a task was made in a session that has been invalidated") }
        return FakeTask(request, isStreamed, self)
    }

    func resumed(_ task: FakeTask) { source.tasks.add(task) }

    func finishTasksAndInvalidate() {
        isInvalidated.withLock { $0 = true }
        source.ends.add("\(ObjectIdentifier(self))")
        events.ended()
    }
}

/// The sessions and tasks of a transport, and what it has scheduled.
final class FakeSystem: Sendable {
    let sessions = Log<FakeSession>()
    /// The tasks that were resumed.
    let tasks = Log<FakeTask>()
    let ends = Log<String>()
    /// The closures that end idle sessions.
    let scheduled = Log<@Sendable () -> Void>()
    /// The times after which they are to run.
    let delays = Log<Duration>()

    func source(spillLimit: Int64 = 1 << 30) -> SessionSource {
        var source = SessionSource()
        source.system = .apple
        source.spillLimit = spillLimit
        source.makeDriver = { [self] _, events in
            let session = FakeSession(events, self)
            sessions.add(session)
            return session
        }
        source.schedule = { [scheduled, delays] delay, body in
            delays.add(delay)
            scheduled.add(body)
        }
        return source
    }

    func transport(
        spillLimit: Int64 = 1 << 30, configure: @escaping @Sendable (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSessionTransport {
        URLSessionTransport(configure, { _, _ in }, [], onServerTrust: nil, source: source(spillLimit: spillLimit))
    }

    /// Waits for a task by its number.
    func task(_ number: Int = 0) async -> FakeTask {
        await tasks.wait(for: number + 1)
        return tasks.entries[number]
    }

    /// Runs the scheduled closures, as if their time had passed.
    func passTime(_ number: Int) {
        let body = scheduled.entries[number]
        ExchangeSession.startQueue.sync { body() }
    }
}

/// A pipeline's hold that admits each request or none, and logs the bytes of which no event tells.
final class FakeControl: ExchangeControl {
    let moves = Log<Int>()
    private let admits: Bool
    private let willOccupy: @Sendable () -> Void
    private let takeStop: @Sendable (@escaping @Sendable (any Error) -> Void) -> Void
    let streamsResponse = false, attempt = 1
    let baseURL: URL? = nil, connectTimeout: Duration? = nil

    /// Makes a hold.
    /// - Parameters:
    ///   - admits: True to admit each request.
    ///   - willOccupy: Runs before a slot is occupied.
    ///   - takeStop: Takes the closure that stops the exchange.
    init(
        admits: Bool = true, _ willOccupy: @escaping @Sendable () -> Void = {},
        takeStop: @escaping @Sendable (@escaping @Sendable (any Error) -> Void) -> Void = { _ in }
    ) {
        self.admits = admits
        self.willOccupy = willOccupy
        self.takeStop = takeStop
    }

    func occupySlot() -> Bool {
        willOccupy()
        return admits
    }
    func releaseSlot() {}
    func didConnect() -> Bool { true }
    func waitsForNetwork() {}
    func bytesDidMove() { moves.add(1) }
    func onStop(_ end: @escaping @Sendable (any Error) -> Void) { takeStop(end) }
}

extension TransportEvent {
    /// The event in a short form.
    var text: String {
        switch self {
        case .sent(let count): "sent \(count)"
        case .connection: "connection"
        case .interim(let status, _): "interim \(status)"
        case .head(let status, _): "head \(status)"
        case .body(let data): data.count > 20 ? "\(data.count) bytes" : String(decoding: data, as: UTF8.self)
        case .trailers: "trailers"
        }
    }
}

/// The events of one `send`, in a short form, and its end.
final class Received: Sendable {
    let events = Log<String>()
    private let task = Lock<Task<Void, any Error>?>(nil)

    /// Sends a request.
    /// - Parameters:
    ///   - control: The pipeline's hold of the exchange; `nil` for none.
    ///   - take: Runs after each event is noted, before the transport may report the next.
    init(
        _ transport: URLSessionTransport, _ request: HTTPRequest, under control: (any ExchangeControl)? = nil,
        take: @escaping @Sendable (TransportEvent) async -> Void = { _ in }
    ) {
        let sending = Task { [events] in
            try await transport.send(request, under: control) { event in
                events.add(event.text)
                await take(event)
            }
        }
        task.withLock { $0 = sending }
    }

    /// The error of the send; `nil` if it succeeded.
    func error() async -> (any Error)? {
        do {
            try await task.withLock { $0 }?.value
            return nil
        } catch {
            return error
        }
    }

    func transportError() async -> TransportError? { await error() as? TransportError }
    func cancel() { task.withLock { $0 }?.cancel() }
}
