/// An event of an exchange, on its way from the transport to the calls that share the exchange, their progress, metrics and observers.
package enum ExchangeEvent: Sendable {
    /// The request waits at a place for its turn.
    case waits(WaitingPlace)
    /// A wait has ended.
    case waited(WaitingPlace)
    /// A request is about to be sent.
    case began(RequestExchange)
    /// The number of bytes of the request's body that were sent so far, and the length of the body; `nil` if it is unknown.
    case sent(Int64, of: Int64?)
    /// The exchange's connection has been measured.
    indirect case connection(ConnectionMetrics)
    /// The request waits for a network.
    case waitsForNetwork
    /// The head of an interim response has arrived.
    case interim(ReceivedHead)
    /// The head of the response has arrived.
    case head(ReceivedHead)
    /// The number of bytes of the response's body that have arrived so far, and the length of the body; `nil` if it is unknown. Zero bytes
    /// are reported after the head.
    case received(Int64, of: Int64?)
    /// The exchange has ended. Not reported if no caller has observers.
    indirect case ended(RequestExchange, Result<HTTPResponse, any Error>)
}

/// The head of a response as it arrived: of an interim response, or of the final one.
package struct ReceivedHead: Sendable {
    /// The status code.
    package let statusCode: Int
    /// The header fields.
    package let headers: HTTPHeaders
    /// The exchange, with the request as it was sent.
    package let exchange: RequestExchange
    /// The request as it was sent.
    package var request: HTTPRequest { exchange.request }

    /// The head as a response without a body.
    var response: HTTPResponse {
        var response = HTTPResponse(statusCode: statusCode, headers: headers, request: request)
        if ContentCoding.isRemoved(from: statusCode, headers, of: request) { response.removeContentCoding() }
        return response
    }
}
