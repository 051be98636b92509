import Foundation

/// A request whose whole response is kept in memory.
public final class DataPromise: RequestPromise<DataResult>, @unchecked Sendable {}

/// What a data request promises.
public struct DataResult: Sendable {
    /// The response.
    public let message: HTTPResponse

    /// The response's body.
    public var responseData: Data { message.body }

    package init(message: HTTPResponse) { self.message = message }
}
