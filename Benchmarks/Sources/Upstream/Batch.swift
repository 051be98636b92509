import Foundation
import NessHTTP
import NessTesting
import Synchronization

/// A transport that returns a 200 once a gate is open, and a loader that opens a gate when a number of requests has arrived at
/// its place in the pipeline.
public final class Batch: Transport, HTTPLoader {
    private struct State: Sendable {
        var left = 0
        var arrived = TestGate()
        var answers = TestGate()
    }

    private static let chunk = Data(count: 100)
    private let state = Mutex(State())
    private let chunks: Int

    /// Makes a transport.
    /// - Parameter chunks: The number of chunks of a response's body.
    public init(chunks: Int = 0) { self.chunks = chunks }

    /// Starts a batch. The one before it has ended.
    /// - Parameters:
    ///   - count: The number of requests.
    ///   - arrived: The gate to open when the last of them has arrived.
    ///   - answers: The gate before the responses. It may be the same gate.
    public func begin(_ count: Int, arrived: TestGate, answers: TestGate) {
        state.withLock { $0 = State(left: count, arrived: arrived, answers: answers) }
    }

    /// Counts the request, and passes it on.
    public func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let full = state.withLock { state in
            state.left -= 1
            return state.left == 0 ? state.arrived : nil
        }
        full?.open()
        return try await next(request)
    }

    /// Waits at the gate of the batch, then responds.
    public func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        let gate = state.withLock(\.answers)
        await gate.wait()
        try await receive(.head(statusCode: 200, headers: [:]))
        for _ in 0..<chunks { try await receive(.body(Self.chunk)) }
    }
}
