import Foundation

/// An event in an exchange, which a `Transport` reports.
public enum TransportEvent: Sendable {
    /// The number of bytes of the request's body that were sent so far.
    case sent(Int64)
    /// The measurements of the connection. They are reported at most once, by a transport that knows them.
    indirect case connection(ConnectionMetrics)
    /// An interim (1xx) response, such as 103 (Early Hints, RFC 8297). Interim responses come before the head. A transport that cannot tell
    /// them apart reports none.
    case interim(statusCode: Int, headers: HTTPHeaders)
    /// The head of the response. It is reported once.
    case head(statusCode: Int, headers: HTTPHeaders)
    /// The next bytes of the response's body, with any content coding removed unless the request's option `KeepsContentCoding` is true.
    case body(Data)
}
