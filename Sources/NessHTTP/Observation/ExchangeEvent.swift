/// An event of an exchange, on its way from the transport to the calls that share the exchange, their progress, metrics and observers.
package enum ExchangeEvent: Sendable {
    /// A request is about to be sent.
    case began
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
    var response: HTTPResponse {
        var response = HTTPResponse(statusCode: statusCode, headers: headers, request: request)
        if ContentCoding.isRemoved(from: statusCode, headers, of: request) { response.removeContentCoding() }
        return response
    }
}

/// The latest events of an exchange, to notify callers who join late.
struct LatestEvents: Sendable {
    /// The number of requests on the wire so far.
    private var began = 0
    private var connection: ExchangeEvent?
    private var head: ExchangeEvent?
    private var sent: ExchangeEvent?
    private var received: ExchangeEvent?

    mutating func keep(_ event: ExchangeEvent) {
        switch event {
        case .began: self = LatestEvents(began: began + 1)
        case .connection: connection = event
        case .head: head = event
        case .sent: sent = event
        case .received: received = event
        // Late callers do not receive these: the wait for a network may be over, and a late interim response saves no time.
        case .waitsForNetwork, .interim: break
        }
    }

    /// The events that a member who knows `last` has missed, in order.
    func since(_ last: LatestEvents) -> [ExchangeEvent] {
        let isSame = began == last.began
        var events: [ExchangeEvent] = isSame ? [] : [.began]
        if let sent { events.append(sent) }
        if let connection, !isSame || last.connection == nil { events.append(connection) }
        if let head, !isSame || last.head == nil { events.append(head) }
        if let received { events.append(received) }
        return events
    }
}
