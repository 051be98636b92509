/// Receives the events on the wire of one request.
package protocol RequestActivity: AnyObject, Sendable {
    /// An exchange begins.
    /// - Parameter attempt: The number of the exchange's attempt, counted from 1.
    func requestDidStart(attempt: Int)
    /// Bytes of the request's body were sent.
    /// - Parameters:
    ///   - bytes: The number of bytes that were sent so far.
    ///   - total: The length of the body; `nil` if it is unknown.
    func requestDidSend(bytes: Int64, of total: Int64?)
    /// The exchange's connection has been measured.
    /// - Parameter connection: The measurements.
    func requestDidMeasure(_ connection: ConnectionMetrics)
    /// An interim response has arrived.
    /// - Parameters:
    ///   - statusCode: The status code, below 200.
    ///   - headers: The header fields.
    func requestDidReceiveInterim(statusCode: Int, headers: HTTPHeaders)
    /// The head of the response has arrived.
    /// - Parameter statusCode: The status code.
    func requestDidReceiveHead(statusCode: Int)
    /// Bytes of the response's body have arrived.
    /// - Parameters:
    ///   - bytes: The number of bytes that have arrived so far. Zero when the head arrives.
    ///   - total: The length of the body; `nil` if it is unknown.
    func requestDidReceive(bytes: Int64, of total: Int64?)
    /// The processing of received bytes has begun or ended. Until it ends, the server is held back.
    /// - Parameter isHeldBack: `true` at the beginning.
    func requestDidHoldBack(_ isHeldBack: Bool)
}

extension RequestActivity {
    /// Does nothing.
    package func requestDidMeasure(_ connection: ConnectionMetrics) {}
    /// Does nothing.
    package func requestDidReceiveInterim(statusCode: Int, headers: HTTPHeaders) {}
    /// Does nothing. The head's arrival is also reported by `requestDidReceive(bytes:of:)` with no bytes.
    package func requestDidReceiveHead(statusCode: Int) {}
    /// Does nothing. Only the idle timeout has to know.
    package func requestDidHoldBack(_ isHeldBack: Bool) {}
}
