import Dispatch
import Foundation
import NessTesting
import Testing

@testable import NessHTTP

/// Starts a server and a manager whose base URL it is, and stops the server whatever happens.
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

/// A URL at which nothing listens: port 1, which no test's server is ever given, unlike that of a server that was stopped.
func refusingURL() async throws -> URL { try #require(URL(string: "http://127.0.0.1:1")) }

/// A URL from a literal that is one.
func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

/// Runs a closure on a thread of its own, so that blocking it blocks nobody else.
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

/// Whether this is the main queue. `Thread.isMainThread` does not tell: on Linux it is another thread that serves the queue.
func isOnMainQueue() -> Bool { DispatchQueue.getSpecific(key: mainKey) == true }

struct Rejected: Error, Equatable { var name = "rejected" }

struct User: Codable, Sendable, Equatable {
    var id: Int
    var name: String
}

/// What happened, in order, from any thread.
final class Log<Element: Sendable>: Sendable {
    private let lock = Lock<[Element]>([])
    private let changed = ChangeSignal()

    var entries: [Element] { lock.withLock { $0 } }

    func add(_ element: Element) {
        lock.withLock { $0.append(element) }
        changed.notify()
    }

    /// Suspends until so many things have happened.
    func wait(for count: Int) async { await wait { $0.count >= count } }

    /// Suspends until what has happened meets a condition.
    func wait(until condition: @Sendable ([Element]) -> Bool) async { await changed.wait { condition(entries) } }
}

extension Promise {
    /// The library's error that this promise ends with; nil, and a recorded issue, where it ends otherwise.
    func nessError(sourceLocation: SourceLocation = #_sourceLocation) async -> NessError? {
        await #expect(throws: NessError.self, sourceLocation: sourceLocation) { _ = try await value }
    }
}

extension HTTPHeaders {
    /// The values of a name, one by one, whether they came on lines of their own or joined by commas.
    func members(of name: String) -> [String] {
        values(for: name).flatMap { $0.split(separator: ",") }.map { String($0.drop { $0 == " " }) }
    }
}

extension RequestStatus {
    /// The status in words, to be compared.
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

/// Opens gates when so many bytes of a response's body have come, and signals every event, after everyone else has been told.
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

/// A transport that does what a closure says.
struct FakeTransport: Transport {
    let body: @Sendable (HTTPRequest, (TransportEvent) throws -> Void) async throws -> Void
    init(_ body: @escaping @Sendable (HTTPRequest, (TransportEvent) throws -> Void) async throws -> Void) { self.body = body }
    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) throws -> Void) async throws {
        try await body(request, receive)
    }
}
