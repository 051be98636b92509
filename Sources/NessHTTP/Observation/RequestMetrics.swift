/// The measurements of one request, from its start to its end: see `RequestObserver.requestDidCollect(_:of:)`. Times are by the manager's
/// clock.
public struct RequestMetrics: Sendable {
    /// The outcome: the response or the error.
    public var outcome: Result<HTTPResponse, any Error> = .failure(CancellationError())
    /// The number of attempts that reached the wire.
    public var attempts = 0
    /// The number of exchanges on the wire. Redirects, renewed credentials and the steps of a resumable upload add exchanges
    /// to an attempt.
    public var exchanges = 0
    /// The time of the attempts before their first exchange: in loaders, in the cache, for a credential, for the throttle, and in the
    /// queues.
    public var queueTime = Duration.zero
    /// The time that the request waited, by place. Waits of a download's segments add up. Some of this time is in `queueTime`.
    public var waits: [WaitingPlace: Duration] = [:]
    /// The time from the beginning of the last exchange to the head of its response; `nil` if no head arrived. The segments of a download
    /// overlap: for them it is the time from the last beginning to the last head.
    public var timeToFirstByte: Duration?
    /// The measurements of the connections, one for each exchange whose transport knows them, in the order of the exchanges.
    /// `CurlTransport` knows them, and `URLSessionTransport` on Apple platforms. An exchange without a connection adds none.
    public var connections: [ConnectionMetrics] = []
    /// The number of times that a transport sent a request again by itself, on another connection, as far as `connections` tells. These
    /// sends add no exchange.
    public var resendCount: Int { connections.reduce(0) { $0.saturatingAdd($1.resendCount) } }
    /// The number of body bytes sent in all exchanges.
    public var bytesSent: Int64 = 0
    /// The number of body bytes received in all exchanges, counted after content decoding. For a download, the number of bytes by which its
    /// file has grown.
    public var bytesReceived: Int64 = 0
    /// The time from the start to the end.
    public var total = Duration.zero
}
