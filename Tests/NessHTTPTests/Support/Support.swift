import Dispatch
import Foundation
import NessTesting
import Testing

@testable import NessHTTP

/// Starts a server and a manager with its base URL. Stops the server in every case.
func withServer(
    _ handler: @escaping TestServer.Handler = { _ in .text("ok") }, configure: (inout Ness.Configuration) -> Void = { _ in },
    _ body: (TestServer, Ness) async throws -> Void
) async throws {
    let server = try await TestServer.start(handler)
    let ness = Ness { configuration in
        configuration.baseURL = server.url
        configure(&configuration)
    }
    do {
        try await body(server, ness)
    } catch {
        await server.stop()
        throw error
    }
    await server.stop()
}

/// A URL where nothing listens: port 1. No test's server ever gets this port, but it may get the port of a stopped server.
func refusingURL() async throws -> URL { try #require(URL(string: "http://127.0.0.1:1")) }

/// Returns a URL from a literal. The test fails if the literal is invalid.
func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

/// Runs a closure on a thread of its own, so that the closure may block.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        DispatchQueue(label: "thread").async { continuation.resume(returning: body()) }
    }
}

private let mainKey: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
}()

/// Returns true on the main queue. `Thread.isMainThread` is no help: on Linux another thread serves the main queue.
func isOnMainQueue() -> Bool { DispatchQueue.getSpecific(key: mainKey) == true }

struct Rejected: Error, Equatable { var name = "rejected" }

struct User: Codable, Sendable, Equatable {
    var id: Int
    var name: String
}

extension Promise {
    /// Returns the library's error that this promise ends with. If the promise ends otherwise, records an issue and returns `nil`.
    func nessError(sourceLocation: SourceLocation = #_sourceLocation) async -> NessError? {
        await #expect(throws: NessError.self, sourceLocation: sourceLocation) { _ = try await value }
    }
}

extension HTTPHeaders {
    /// Returns the values of a field one by one, whether they arrived on separate lines or joined by commas.
    func members(of name: String) -> [String] {
        values(for: name).flatMap { $0.split(separator: ",") }.map { String($0.drop { $0 == " " }) }
    }
}

extension RequestStatus {
    /// The status as text, for comparison.
    var text: String {
        switch self {
        case .idle: "idle"
        case .running(let fraction): "running \(fraction)"
        case .dropped: "dropped"
        case .completed(let response): "completed \(response.statusCode)"
        case .error: "error"
        }
    }
}

/// Opens gates at given numbers of body bytes. Signals every event after all other receivers have seen it.
struct ReceiveGates: HTTPLoader {
    var gates: [Int64: TestGate] = [:]
    let changed = ChangeSignal()

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let context = next.context.with { $0.activity = Watch(gates: gates, changed: changed, wrapped: $0.activity) }
        return try await next(request, in: context)
    }

    private final class Watch: RequestActivity {
        let gates: [Int64: TestGate]
        let changed: ChangeSignal
        let wrapped: (any RequestActivity)?

        init(gates: [Int64: TestGate], changed: ChangeSignal, wrapped: (any RequestActivity)?) {
            self.gates = gates
            self.changed = changed
            self.wrapped = wrapped
        }

        func requestDidStart(attempt: Int) {
            wrapped?.requestDidStart(attempt: attempt)
            changed.notify()
        }

        func requestDidSend(bytes: Int64, of total: Int64?) {
            wrapped?.requestDidSend(bytes: bytes, of: total)
            changed.notify()
        }

        func requestDidReceive(bytes: Int64, of total: Int64?) {
            wrapped?.requestDidReceive(bytes: bytes, of: total)
            gates[bytes]?.open()
            changed.notify()
        }
    }
}

/// A transport that runs a closure for each request.
struct FakeTransport: Transport {
    let body: @Sendable (HTTPRequest, (TransportEvent) async throws -> Void) async throws -> Void
    init(_ body: @escaping @Sendable (HTTPRequest, (TransportEvent) async throws -> Void) async throws -> Void) { self.body = body }
    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try await body(request, receive)
    }
}

/// Asserts that a text appears nowhere in what a value shows.
func expectHidden(_ secret: String, in value: Any, sourceLocation: SourceLocation = #_sourceLocation) {
    var dumped = ""
    dump(value, to: &dumped)
    for shown in ["\(value)", String(reflecting: value), dumped] {
        #expect(!shown.contains(secret), "\(type(of: value)): \(shown.prefix(2000))", sourceLocation: sourceLocation)
    }
}
