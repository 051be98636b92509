import NessHTTP
import NessTesting
import TestSupport

extension MockTransport {
    /// Responds once a gate opens. `requests` has a request before, so that a test can wait for it.
    @discardableResult
    func on(
        _ method: HTTPMethod?, _ pattern: String, after gate: TestGate, _ reply: @escaping @Sendable (ReceivedRequest) throws -> Reply
    ) -> Route {
        on(method, pattern) { request in
            await gate.wait()
            return try reply(request)
        }
    }
}
