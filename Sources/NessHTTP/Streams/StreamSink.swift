import Foundation
import NessLock

/// Delivers the body of a 2xx response as it arrives. Any other body is collected in memory, for the steps that act on it.
final class StreamSink: BodySink {
    private struct State: Sendable {
        /// The call of the stream, whose promise settles with the head.
        weak var call: Call?
        var part = Part.none
        /// The redirects that led to the current request. Kept here, because the head is published before `RedirectHistory` adds them.
        var history: [HTTPResponse] = []
    }

    /// The part of the body that the sink has taken.
    private enum Part { case none, start, whole }

    let buffer = StreamBuffer()
    private let state = Lock(State())

    /// Sets the call of the stream.
    func belongs(to call: Call) { state.withLock { $0.call = call } }

    // Delivered bytes cannot be taken back.
    var isRestartable: Bool { state.withLock { $0.part == .none } }
    var progress: (completed: Int64, total: Int64?)? { nil }

    func willTakeBody(after redirects: [HTTPResponse]) { state.replace(\.history, with: redirects) }

    func begin(_ response: HTTPResponse, judgedBy validators: [any ResponseValidator]) throws -> Bool {
        guard (200..<300).contains(response.statusCode) else { return false }
        // If code such as a loader sends the request again after the body has started, a second body would follow the first.
        if !isRestartable {
            var error = TransportError(.truncated, "the request was sent again after its stream had started")
            error.repetition = .never("the stream has started")
            throw error
        }
        for validator in validators { try response.judge(by: validator) }
        let (call, redirects) = state.withLock { state in
            state.part = .start
            return (state.call, state.history)
        }
        var head = response
        if !redirects.isEmpty { head.history = redirects }
        call?.settle(withHead: head)
        return true
    }

    func write(_ data: Data) async throws { try await buffer.write(data) }

    func didTakeBody() { state.withLock { $0.part = .whole } }

    func callDidEnd(_ outcome: Result<HTTPResponse, any Error>) {
        if case .success(let response) = outcome, state.withLock({ $0.part == .start }) {
            // The body broke off, and a loader replaced the error with a response. The reader must not take the partial body for the whole
            // one.
            let reason = "the body broke off, and a loader replaced the error"
            let context = NessError.Context(request: response.request, response: response, reason: reason)
            return buffer.finish(.failure(NessError(.truncated, context)), rest: Data())
        }
        // The body of a response that the sink did not take was collected in memory.
        buffer.finish(outcome.map { _ in }, rest: isRestartable ? (try? outcome.get().body) ?? Data() : Data())
    }
}
