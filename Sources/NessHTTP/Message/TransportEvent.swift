import Foundation

/// An event in an exchange, which a `Transport` reports.
public enum TransportEvent: Sendable {
    /// The number of bytes of the request's body that were sent so far.
    case sent(Int64)
    /// The head of the response. It is reported once. Interim (1xx) responses are not reported.
    case head(statusCode: Int, headers: HTTPHeaders)
    /// The next bytes of the response's body, with any content coding removed unless the request's option `KeepsContentCoding` is true.
    case body(Data)
}
