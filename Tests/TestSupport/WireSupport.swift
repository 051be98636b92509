import Dispatch
import Foundation
import NessHTTP
import NessLock
import NessTesting
import Testing

/// The type of a response whose first bytes a test waits for. URLSession on Apple platforms withholds the head and the first 512 bytes of a
/// response without a type, or with one of `text/*`, to guess its type.
package let opaque = "Content-Type: application/octet-stream\r\n"

/// The head of a response in chunks.
package let chunkedHead = "HTTP/1.1 200 OK\r\n\(opaque)Transfer-Encoding: chunked\r\n\r\n"
/// The head of an event stream that has no length.
package let eventHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

extension ConnectionStep {
    /// Sends one chunk.
    package static func chunk(_ text: String) -> ConnectionStep { .send("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n") }
}

/// Starts a server, and stops it in every case.
package func serving<Result>(_ handler: @escaping TestServer.Handler, _ body: (TestServer) async throws -> Result) async throws -> Result {
    try await stopping(TestServer.start(handler), after: body)
}

/// Starts a server that runs a script on each connection, and stops it in every case.
package func serving<Result>(
    script: @escaping @Sendable (ConnectionInfo) -> [ConnectionStep], _ body: (TestServer) async throws -> Result
) async throws -> Result {
    try await stopping(TestServer.start(script: script), after: body)
}

/// Stops a server after a closure, in every case.
package func stopping<Result>(_ server: TestServer, after body: (TestServer) async throws -> Result) async throws -> Result {
    do {
        let result = try await body(server)
        await server.stop()
        return result
    } catch {
        await server.stop()
        throw error
    }
}

extension TestServer {
    /// Returns a URL of this server.
    /// - Parameters:
    ///   - path: The path and query, with the slash at the start.
    ///   - host: The host name: `localhost` is another origin than `127.0.0.1`.
    package func at(_ path: String, host: String = "127.0.0.1") -> String { "http://\(host):\(port)\(path)" }
}

/// A transport without sockets, for cases that sockets cannot show, such as https. A closure answers, and the transport records the
/// requests.
package final class AnsweringTransport: Transport {
    package struct Answer: Sendable {
        package var status: Int
        package var headers: HTTPHeaders = [:]
        package var text = ""

        package init(status: Int, headers: HTTPHeaders = [:], text: String = "") {
            (self.status, self.headers, self.text) = (status, headers, text)
        }
    }

    private let seen = Lock<[HTTPRequest]>([])
    private let answer: @Sendable (HTTPRequest) -> Answer

    package init(_ answer: @escaping @Sendable (HTTPRequest) -> Answer) { self.answer = answer }

    /// Redirects the first request to a URL, and answers all others with success.
    package convenience init(redirectingTo location: String, status: Int = 302) {
        let isFirst = Lock(true)
        self.init { _ in
            let redirects = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            return redirects ? Answer(status: status, headers: ["Location": location], text: "moved") : Answer(status: 200, text: "arrived")
        }
    }

    package var requests: [HTTPRequest] { seen.withLock { $0 } }

    package func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        seen.withLock { $0.append(request) }
        let answer = answer(request)
        try await receive(.head(statusCode: answer.status, headers: answer.headers))
        if !answer.text.isEmpty { try await receive(.body(Data(answer.text.utf8))) }
    }
}

/// Counts entries and exits, from any thread.
package final class Tally: Sendable {
    private let state = Lock((now: 0, most: 0, total: 0))
    private let changed = ChangeSignal()

    package init() {}

    /// The number of current entries.
    package var now: Int { state.withLock { $0.now } }
    /// The largest number of simultaneous entries.
    package var most: Int { state.withLock { $0.most } }
    /// The number of all entries so far.
    package var total: Int { state.withLock { $0.total } }

    /// Enters, and returns the number of earlier entries.
    @discardableResult
    package func enter() -> Int {
        let before = state.withLock { state in
            state.now += 1
            state.total += 1
            state.most = max(state.most, state.now)
            return state.total - 1
        }
        changed.notify()
        return before
    }

    package func leave() {
        state.withLock { $0.now -= 1 }
        changed.notify()
    }

    /// Suspends until there was a number of entries.
    package func wait(for count: Int) async { await changed.wait { total >= count } }
}

/// The real transport with a count of its exchanges, and a closure that gets each event after the library.
package struct CountingTransport: Transport {
    package let tally = Tally()
    private let wire = URLSessionTransport()
    private let tap: @Sendable (TransportEvent) -> Void

    package init(_ tap: @escaping @Sendable (TransportEvent) -> Void = { _ in }) { self.tap = tap }

    package func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        tally.enter()
        defer { tally.leave() }
        try await wire.send(request) { event in
            try await receive(event)
            tap(event)
        }
    }
}

/// Records every end of a promise. A test expects exactly one.
package final class Witness: Sendable {
    private let heard = Lock<[String]>([])
    private let hasHeard = TestGate()

    package init<Value>(_ promise: Promise<Value>) {
        promise.finally { [self] value, error in
            let name = (error as? NessError)?.kind.rawValue ?? error.map { "\($0)" } ?? "value"
            heard.withLock { $0.append(value != nil && error != nil ? "both" : name) }
            hasHeard.open()
        }
    }

    /// The ends recorded so far.
    package var ends: [String] { heard.withLock { $0 } }

    /// Returns the recorded ends, once there is one. The promise that `finally` returns is no help: a drop ends it while the handler runs.
    package func outcome() async -> [String] {
        await hasHeard.wait()
        return ends
    }
}

/// Runs a closure on several threads at once.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
    await withCheckedContinuation { continuation in
        let group = DispatchGroup()
        for number in 0..<count { DispatchQueue(label: "thread \(number)").async(group: group) { body(number) } }
        group.notify(queue: .global()) { continuation.resume() }
    }
}
