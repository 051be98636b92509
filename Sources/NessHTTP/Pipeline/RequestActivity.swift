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
    /// - Parameter head: Its head, with a status code below 200.
    func requestDidReceiveInterim(_ head: ReceivedHead)
    /// The head of the response has arrived.
    /// - Parameter head: The head.
    func requestDidReceiveHead(_ head: ReceivedHead)
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
    package func requestDidReceiveInterim(_ head: ReceivedHead) {}
    /// Does nothing. The head's arrival is also reported by `requestDidReceive(bytes:of:)` with no bytes.
    package func requestDidReceiveHead(_ head: ReceivedHead) {}
    /// Does nothing. Only the idle timeout has to know.
    package func requestDidHoldBack(_ isHeldBack: Bool) {}
}

/// The head of a response as it arrived: of an interim response, or of the final one.
package struct ReceivedHead: Sendable {
    /// The status code.
    package let statusCode: Int
    /// The header fields.
    package let headers: HTTPHeaders
    /// The request as it was sent.
    package let request: HTTPRequest

    /// The head as a response without a body.
    var response: HTTPResponse { HTTPResponse(statusCode: statusCode, headers: headers, request: request) }
}
