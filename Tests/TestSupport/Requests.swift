import NessHTTP
import Testing

extension Promise {
    /// Returns the library's error that this promise ends with. If the promise ends otherwise, records an issue and returns `nil`.
    package func nessError(sourceLocation: SourceLocation = #_sourceLocation) async -> NessError? {
        await #expect(throws: NessError.self, sourceLocation: sourceLocation) { _ = try await value }
    }
}

/// Records the connections that requests used.
package final class ConnectionRecorder: RequestObserver {
    package let log = Log<ConnectionMetrics>()

    package init() {}

    package func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) {
        for connection in metrics.connections { log.add(connection) }
    }
}
