import Foundation
import NessLock

/// Delivers the body of a 2xx response as it arrives. Any other body is collected in memory, for the steps that act on it.
final class StreamSink: BodySink {
    let buffer = StreamBuffer()
    /// The call of the stream, whose promise settles with the head.
    private let call = Lock(WeakCall())
    private let part = Lock(Part.none)
    /// The redirects that led to the current request. The head is published before `Redirects` has it.
    private let history = Lock<[HTTPResponse]>([])

    /// The part of the body that the sink has taken.
    private enum Part { case none, start, whole }

    private struct WeakCall: Sendable { weak var call: Call? }

    /// Sets the call of the stream.
    func belongs(to call: Call) { self.call.withLock { $0.call = call } }

    // Delivered bytes cannot be taken back.
    var isRestartable: Bool { part.withLock { $0 == .none } }
    var progress: (completed: Int64, total: Int64?)? { nil }

    func willTakeBody(after redirects: [HTTPResponse]) {
        // The redirects of an earlier attempt are released outside the lock.
        _ = history.withLock { history in
            defer { history = redirects }
            return history
        }
    }

    func begin(_ response: HTTPResponse, judgedBy validators: [any ResponseValidator]) throws -> Bool {
        guard (200..<300).contains(response.statusCode) else { return false }
        // Code that sends again what a reader has started to read, such as a loader after an error, would append a second body.
        if !isRestartable {
            var error = TransportError(.truncated, "the request was sent again after its stream had started")
            error.isFinal = true
            throw error
        }
        for validator in validators { try response.judge(by: validator) }
        part.withLock { $0 = .start }
        var head = response
        let redirects = history.withLock { $0 }
        if !redirects.isEmpty { head.history = redirects }
        call.withLock { $0.call }?.settle(withHead: head)
        return true
    }

    func write(_ data: Data) async throws { try await buffer.write(data) }

    func didTakeBody() { part.withLock { $0 = .whole } }

    func callDidEnd(_ outcome: Result<HTTPResponse, any Error>) {
        if case .success(let response) = outcome, part.withLock({ $0 == .start }) {
            // A loader has put a response in the place of the error. The reader has a part of the body that the error broke off.
            let reason = "the body broke off, and a loader replaced the error"
            let context = NessError.Context(request: response.request, response: response, reason: reason)
            return buffer.finish(.failure(NessError.truncated(context)), rest: Data())
        }
        // The body of a response that the sink did not take was collected in memory.
        buffer.finish(outcome.map { _ in }, rest: isRestartable ? (try? outcome.get().body) ?? Data() : Data())
    }
}
