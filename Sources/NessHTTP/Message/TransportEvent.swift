import Foundation

/// What happens in an exchange.
public enum TransportEvent: Sendable {
    /// So many bytes of the request's body have left in all.
    case sent(Int64)
    /// The response begins. Comes once; interim (1xx) responses are not reported.
    case head(statusCode: Int, headers: HTTPHeaders)
    /// More of the response's body, with any content coding removed unless the request's option `KeepsContentCoding` is true.
    case body(Data)
}
