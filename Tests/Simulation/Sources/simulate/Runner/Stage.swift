import Foundation
import NessHTTP
import NessLock

/// A small program: two or three events that meet, with a strict outcome.
struct SmallProgram: Sendable {
    let name: String
    /// The sentence of a guide or of a doc comment that the program checks.
    let rule: String
    let body: @Sendable (Stage) async throws -> Void

    init(_ name: String, _ rule: String, _ body: @escaping @Sendable (Stage) async throws -> Void) {
        self.name = name
        self.rule = rule
        self.body = body
    }
}

/// The tools of a small program.
final class Stage: Sendable {
    private let failures = Lock<[String]>([])
    private let received = Lock<[(line: String, at: Duration)]>([])
    private let start = ContinuousClock.now
    static let url = "https://a.test/x"

    /// The broken rules so far.
    var broken: [String] { failures.withLock { $0 } }

    func expect(_ holds: Bool, _ message: @autoclosure () -> String) {
        if holds { return }
        let text = message()
        failures.withLock { $0.append(text) }
    }

    /// The requests that the server has received, such as `GET /x`, in order.
    var requests: [String] { received.withLock { $0.map(\.line) } }
    /// The times at which they arrived.
    var times: [Duration] { received.withLock { $0.map(\.at) } }

    func count(_ line: String) -> Int { requests.count { $0 == line } }

    /// Makes a manager whose server responds to each request after a moment.
    func manager(
        _ stopping: SimulatedTransport.Stopping = .controlled, _ configure: (inout Ness.Configuration) -> Void = { _ in }
    ) -> Ness {
        manager(
            stopping,
            serve: { connection in
                try await connection.wait(.milliseconds(10))
                try await connection.respond(200, [:], "ok")
            }, configure)
    }

    /// Makes a manager whose server is a closure.
    func manager(
        _ stopping: SimulatedTransport.Stopping = .controlled, serve: @escaping @Sendable (Connection) async throws -> Void,
        _ configure: (inout Ness.Configuration) -> Void = { _ in }
    ) -> Ness {
        let transport = SimulatedTransport(stopping) { [self] connection in
            let request = connection.request
            received.withLock { $0.append(("\(request.method.rawValue) \(request.url.path)", ContinuousClock.now - start)) }
            try await serve(connection)
        }
        return Ness {
            $0.transport = transport
            configure(&$0)
        }
    }

    /// Runs closures at the same time, and waits for all of them.
    func together(_ parts: (@Sendable () async throws -> Void)...) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in parts { group.addTask { try await part() } }
            try await group.waitForAll()
        }
    }

    /// Runs a closure, and another one at a random moment.
    func meet(_ first: @escaping @Sendable () async throws -> Void, _ second: @escaping @Sendable () async throws -> Void) async throws {
        try await together(
            first,
            { [self] in
                try await moment()
                try await second()
            })
    }

    /// Sends GET requests, and drops some of them, while a closure runs at a random moment. Those that are not dropped succeed.
    func crowd(_ ness: Ness, _ urls: [String], meets disturb: @escaping @Sendable () async throws -> Void) async throws {
        try await meet({ [self] in expect(try await crowd(ness, urls), in: ["ok", "dropped"]) }, disturb)
    }

    /// Verifies that each request in a log has one start and one end. The observers of a drop are notified on another thread.
    func expectOneEnd(in log: EventLog, after ness: Ness) async throws {
        await ness.shutdown(within: .seconds(1))
        try await Task.sleep(for: .seconds(1))
        for fault in log.faults() { expect(false, fault) }
    }

    /// Waits for a random time: often none, or the time that the server needs.
    func moment() async throws {
        let choice = Int.random(in: 0..<24)
        if choice > 3 { try await Task.sleep(for: .milliseconds(choice)) }
    }

    /// Sends GET requests at random moments, each to its URL, and drops some of them.
    /// - Returns: The outcomes, in the order of the URLs.
    func crowd(_ ness: Ness, _ urls: [String], drops: Bool = true) async throws -> [String] {
        try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for (index, url) in urls.enumerated() {
                group.addTask { [self] in
                    try await moment()
                    let promise = ness.httpRequest(withUrl: url).dataRequest()
                    if drops, Bool.random() {
                        try await moment()
                        promise.drop()
                    }
                    return (index, await outcome(of: promise))
                }
            }
            var outcomes = urls
            for try await (index, outcome) in group { outcomes[index] = outcome }
            return outcomes
        }
    }

    /// Sends a request, and returns the kind of its outcome: `ok`, a status, or the kind of an error.
    func outcome(of promise: Promise<DataResult>) async -> String {
        do {
            let status = try await promise.value.message.statusCode
            return status == 200 ? "ok" : "\(status)"
        } catch {
            return Self.kind(error)
        }
    }

    static func kind(_ error: any Error) -> String { (error as? NessError)?.kind.rawValue ?? "\(type(of: error))" }

    func expect(_ outcomes: [String], in allowed: Set<String>) {
        expect(outcomes.allSatisfy(allowed.contains), "the outcomes are \(outcomes)")
    }

    /// Verifies that nothing is left: a request succeeds as if the manager were new. A drop settles a promise before its task has ended.
    func expectIdle(_ ness: Ness, _ path: String = "https://probe.test/probe") async {
        try? await Task.sleep(for: .milliseconds(1))
        let start = ContinuousClock.now
        let outcome = await outcome(of: ness.httpRequest(withUrl: path).dataRequest())
        expect(outcome == "ok", "a request at the end fails: \(outcome)")
        expect(ContinuousClock.now - start < .seconds(5), "a request at the end waits for \(ContinuousClock.now - start)")
    }
}

/// Notes the events of all requests.
final class EventLog: RequestObserver, Sendable {
    private let entries = Lock<[(id: Int, event: String)]>([])

    private func note(_ request: HTTPRequest, _ event: String) {
        // A request that a loader makes itself is part of the caller's, and has no start and end.
        if !request.url.path.hasSuffix("/other") { entries.withLock { $0.append((request.id, event)) } }
    }

    /// Returns what is wrong with the events: each request has one start and one end, in this order, and nothing outside of them. The same
    /// is true of each exchange and each wait of a request, so a span ends once.
    func faults() -> [String] {
        var faults: [String] = []
        let byRequest = entries.withLock { Dictionary(grouping: $0, by: \.id).mapValues { $0.map(\.event) } }
        for (id, events) in byRequest.sorted(by: { $0.key < $1.key }) {
            if events.first != "start" { faults.append("request \(id) has no start first: \(events)") }
            if events.count(where: { $0 == "start" }) != 1 { faults.append("request \(id) does not start once: \(events)") }
            if events.count(where: { $0 == "end" }) != 1 || events.last != "end" {
                faults.append("request \(id) does not end once: \(events)")
            }
            if events.count(where: { $0 == "success" || $0 == "failure" }) != 1 {
                faults.append("request \(id) has not one outcome: \(events)")
            }
            if let fault = Self.openParts(of: events) { faults.append("request \(id): \(fault): \(events)") }
        }
        return faults
    }

    /// Returns what is wrong with the exchanges and the waits; `nil` for nothing.
    private static func openParts(of events: [String]) -> String? {
        var open: [Substring: Int] = [:]
        for event in events {
            let words = event.split(separator: " ", maxSplits: 1)
            guard words.count == 2 else { continue }
            switch words[0] {
            case "begins":
                open[words[1], default: 0] += 1
                if words[1].hasPrefix("exchange"), open[words[1]] != 1 { return "\(words[1]) begins twice" }
            case "has": if open[words[1], default: 0] == 0 { return "\(words[1]) has a head outside of it" }
            default:
                if open[words[1], default: 0] == 0 { return "\(words[1]) ends without a begin" }
                open[words[1], default: 0] -= 1
            }
        }
        return open.first { $0.value != 0 }.map { "\($0.key) does not end" }
    }

    func requestDidStart(_ request: HTTPRequest) { note(request, "start") }
    func requestWillWait(_ request: HTTPRequest, at place: WaitingPlace) { note(request, "begins wait \(place)") }
    func requestDidWait(_ request: HTTPRequest, at place: WaitingPlace, for duration: Duration) { note(request, "ends wait \(place)") }
    func requestWillSend(_ request: HTTPRequest) { note(request, "willSend") }
    func requestDidBeginExchange(_ exchange: RequestExchange, of request: HTTPRequest) {
        note(request, "begins exchange \(exchange.id)")
    }
    func requestDidReceiveHead(_ head: HTTPResponse, in exchange: RequestExchange, of request: HTTPRequest) {
        note(request, "has exchange \(exchange.id)")
    }
    func requestDidEndExchange(_ exchange: RequestExchange, with outcome: Result<HTTPResponse, any Error>, of request: HTTPRequest) {
        note(request, "ends exchange \(exchange.id)")
    }
    func requestDidReceive(_ response: HTTPResponse, to request: HTTPRequest) { note(request, "response") }
    func requestWillRetry(_ request: HTTPRequest, after delay: Duration, becauseOf attempt: FailedAttempt) { note(request, "retry") }
    func requestDidPause(_ request: HTTPRequest) { note(request, "pause") }
    func requestDidResume(_ request: HTTPRequest) { note(request, "resume") }
    func requestDidSucceed(_ request: HTTPRequest, with response: HTTPResponse) { note(request, "success") }
    func requestDidFail(_ request: HTTPRequest, with error: any Error) { note(request, "failure") }
    func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) { note(request, "metrics") }
    func requestDidEnd(_ request: HTTPRequest) { note(request, "end") }
}
