/// What a request took, from its start to its end: see `RequestObserver.requestDidCollect(_:of:)`. Times are by the manager's clock.
public struct RequestMetrics: Sendable {
    /// What came of it.
    public var outcome: Result<HTTPResponse, any Error>
    /// How many attempts got to the wire.
    public var attempts: Int
    /// How many exchanges the request waited for: redirects and renewed credentials make more of them than attempts.
    public var exchanges: Int
    /// The time that attempts waited for their first exchange: for a credential, the throttle, a place with the host.
    public var queueTime: Duration
    /// The time from the beginning of the last exchange to the header of its response; nil where none came.
    public var timeToFirstByte: Duration?
    /// How many bytes of bodies were sent, in all exchanges.
    public var bytesSent: Int64
    /// How many bytes of bodies came, in all exchanges, after any content coding was removed.
    public var bytesReceived: Int64
    /// The time from start to end.
    public var total: Duration

    init() {
        outcome = .failure(CancellationError())
        (attempts, exchanges, queueTime, bytesSent, bytesReceived, total) = (0, 0, .zero, 0, 0, .zero)
    }
}
