import Foundation
import NessHTTP
import NessLock

/// One request on the simulated wire. The server's code waits and reports through it.
final class Connection: Sendable {
    private struct State: Sendable {
        var end: (any Error)?
        var continuation: UnsafeContinuation<Void, Never>?
    }

    let request: HTTPRequest
    /// The number of the request at its transport, counted from 1.
    let number: Int
    private let receive: @Sendable (TransportEvent) async throws -> Void
    private let state = Lock(State())

    init(_ request: HTTPRequest, _ number: Int, receive: @escaping @Sendable (TransportEvent) async throws -> Void) {
        self.request = request
        self.number = number
        self.receive = receive
    }

    /// Closes the connection. Only the first error counts.
    func stop(_ error: any Error) {
        let continuation = state.withLock { state in
            state.end = state.end ?? error
            return state.continuation.take()
        }
        continuation?.resume()
    }

    /// Throws the error with which the connection was closed.
    func check() throws {
        if let end = state.withLock({ $0.end }) { throw end }
    }

    /// Waits, or until the connection is closed.
    func wait(_ duration: Duration) async throws {
        try check()
        let timer = Task { [self] in
            try? await Task.sleep(for: duration)
            state.withLock { $0.continuation.take() }?.resume()
        }
        await suspend()
        timer.cancel()
        try check()
    }

    /// Waits until the client closes the connection; at the latest for five minutes, because some transports ignore that.
    func waitForEver() async throws -> Never {
        try await wait(.seconds(300))
        throw TransportError.connectionLost
    }

    private func suspend() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let isClosed = state.withLock { state in
                if state.end == nil { state.continuation = continuation }
                return state.end != nil
            }
            if isClosed { continuation.resume() }
        }
    }

    /// Reports an event to the client.
    func report(_ event: TransportEvent) async throws {
        try check()
        try await receive(event)
        try check()
    }

    /// Reports a whole response.
    func respond(_ status: Int, _ headers: HTTPHeaders = [:], _ body: String = "") async throws {
        var headers = headers
        headers["Content-Length"] = "\(body.utf8.count)"
        try await report(.head(statusCode: status, headers: headers))
        if !body.isEmpty, request.method != .head { try await report(.body(Data(body.utf8))) }
    }
}

/// A transport whose server is a closure. It stops as the library's transports do, or as one of an application.
final class SimulatedTransport: ControlledTransport {
    /// The behavior of a transport that is told to stop.
    enum Stopping: String, Sendable, Codable, CaseIterable {
        /// Stops immediately, without a cancellation, like the library's transports.
        case controlled
        /// Stops when its task is canceled, like a transport of an application.
        case canceled
        /// Never stops, like a faulty transport.
        case ignored
    }

    let stopping: Stopping
    private let serve: @Sendable (Connection) async throws -> Void
    private let count = Lock(0)

    init(_ stopping: Stopping = .controlled, _ serve: @escaping @Sendable (Connection) async throws -> Void) {
        self.stopping = stopping
        self.serve = serve
    }

    var isStoppable: Bool { stopping == .controlled }

    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try await send(request, under: nil, receive: receive)
    }

    func send(
        _ request: HTTPRequest, under control: (any ExchangeControl)?, receive: @escaping @Sendable (TransportEvent) async throws -> Void
    ) async throws {
        let connection = Connection(request, count.increment(), receive: receive)
        if stopping == .ignored { return try await serve(connection) }
        if stopping == .controlled { control?.onStop { connection.stop($0) } }
        try await withTaskCancellationHandler {
            try await serve(connection)
        } onCancel: {
            connection.stop(CancellationError())
        }
    }
}

extension Lock<Int> {
    /// Adds one.
    /// - Returns: The new number.
    borrowing func increment() -> Int {
        withLock { number in
            number += 1
            return number
        }
    }
}
