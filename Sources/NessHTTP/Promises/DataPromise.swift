import Foundation

/// A running request whose whole response is collected in memory.
public final class DataPromise: RequestPromise<DataResult>, @unchecked Sendable {}

/// The result of a data request.
public struct DataResult: Sendable {
    /// The response.
    public let message: HTTPResponse

    /// The response, which iONess calls `message`.
    public var response: HTTPResponse { message }

    /// The response's body.
    public var responseData: Data { message.body }

    package init(message: HTTPResponse) { self.message = message }
}
