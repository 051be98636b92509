import Foundation
import NessHTTP

extension TransportConformance {
    /// The start of a response. URLSession on Apple platforms withholds the first bytes of a response without a type.
    static let ok = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"

    /// The steps of a server that sends half of a response.
    static let half: [ConnectionStep] = [.receiveRequest, .send(ok + "Content-Length: 10\r\n\r\nhello"), .stall]

    /// A GET, and a POST with a body.
    static let methods: [(HTTPMethod, HTTPBody?)] = [(.get, nil), (.post, HTTPBody(Data("content".utf8)))]

    /// Runs a closure for each kind of event, with a server that never responds completely, so that the exchange cannot end by itself.
    static func atEachEvent(
        in context: CheckContext,
        _ body: (
            _ name: String, TestServer, HTTPRequest, _ isMoment: @escaping @Sendable (TransportEvent) -> Bool
        ) async -> Void
    ) async throws {
        let upload = try await context.serve(script: { _ in [.receiveHead, .stall] })
        let put = try context.request(.put, to: upload, body: HTTPBody(Data(count: 16 << 20)))
        await body("sent", upload, put) { if case .sent = $0 { true } else { false } }
        for name in ["head", "body"] {
            let server = try await context.serve(script: { _ in half })
            await body(name, server, try context.request(to: server)) { event in
                if case .head = event { return name == "head" }
                if case .body = event { return name == "body" }
                return false
            }
        }
    }
}

extension CheckContext {
    /// Makes a request to a server.
    func request(
        _ method: HTTPMethod = .get, to server: TestServer, _ target: String = "/", headers: HTTPHeaders = [:], body: HTTPBody? = nil
    ) throws -> HTTPRequest {
        HTTPRequest(method, url: try url(server.url.absoluteString + target), headers: headers, body: body)
    }

    /// Makes a URL.
    func url(_ text: String) throws -> URL {
        guard let url = URL(string: text) else { throw Failed(description: "\(text) is not a URL") }
        return url
    }

    // MARK: expectations

    /// Records a problem unless a condition holds.
    func expect(_ isMet: Bool, _ problem: @autoclosure () -> String) {
        if !isMet { fail(problem()) }
    }

    /// Records a problem unless two values are equal.
    func expect<Value: Equatable>(_ name: String, _ value: Value?, equals expected: Value?) {
        func text(_ value: Value?) -> String { value.map { "\($0)" } ?? "none" }
        expect(value == expected, "\(name): expected \(text(expected)), got \(text(value))")
    }

    /// Records a problem unless an exchange has ended with a response.
    func expect(_ name: String, _ record: ExchangeRecord, gives statusCode: Int, _ body: Data) {
        let isRight = record.hasSucceeded && record.statusCode == statusCode && record.body == body
        let text = String(decoding: body.prefix(40), as: UTF8.self).debugDescription
        expect(isRight, "\(name): expected \(statusCode) with \(body.count) bytes \(text), got \(record.summary)")
    }

    /// Records a problem unless an exchange has ended with a response.
    func expect(_ name: String, _ record: ExchangeRecord, gives statusCode: Int = 200, _ text: String) {
        expect(name, record, gives: statusCode, Data(text.utf8))
    }

    /// Records a problem unless an exchange has ended with a transport's error.
    func expect(_ name: String, _ record: ExchangeRecord, failsWith kinds: [TransportError.Kind] = TransportError.Kind.allCases) {
        let names = kinds.map { "\($0)" }.joined(separator: " or ")
        let expected = kinds.count == TransportError.Kind.allCases.count ? "a TransportError" : "an error of the kind \(names)"
        expect(record.transportError.map { kinds.contains($0.kind) } == true, "\(name): expected \(expected), got \(record.summary)")
    }

    /// Records a problem unless an exchange has ended with `CancellationError`.
    func expectCancelled(_ name: String, _ record: ExchangeRecord) {
        expect(record.isCancelled, "\(name): expected CancellationError, got \(record.summary)")
    }

    /// Records a problem unless a GET over the transport still succeeds.
    func expectWorking() async throws {
        let server = try await serve { _ in .text("fine") }
        expect("the next exchange", await run(try request(to: server)), gives: 200, "fine")
    }

    /// Waits until no connection of a server is in an exchange.
    func untilIdle(_ server: TestServer) async { await server.waitUntil { $0.busyConnections == 0 } }

    /// Waits until a script has opened a gate, or will never do so, because the connections of its server have ended.
    func wait(for gate: TestGate, orEndOf server: TestServer) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await gate.wait() }
            group.addTask { await server.waitUntil { $0.connectionCount > 0 && $0.busyConnections == 0 } }
            await group.next()
            group.cancelAll()
        }
    }

    /// Runs a number of GETs over another transport. This is the measure of time of a check: a transport that can continue does so
    /// meanwhile.
    func runOthers(_ count: Int) async throws {
        let other = try await makeTransport()
        let server = try await serve { _ in .text("fine") }
        for _ in 0..<count { expect("another exchange", await run(try request(to: server), over: other), gives: 200, "fine") }
    }
}

/// Returns bytes that differ from place to place, so that a lost, doubled or moved piece is noticed.
func conformanceData(_ count: Int) -> Data {
    var data = Data(capacity: count)
    while data.count < count { data += ConformanceBytes.base.prefix(count - data.count) }
    return data
}

private enum ConformanceBytes {
    /// A prime number of pseudo-random bytes (xorshift), so that no repetition falls on a boundary of pieces.
    static let base: Data = {
        var state: UInt32 = 2_463_534_242
        return Data(
            (0..<65_537).map { _ in
                state ^= state << 13
                state ^= state >> 17
                state ^= state << 5
                return UInt8(truncatingIfNeeded: state)
            })
    }()
}
