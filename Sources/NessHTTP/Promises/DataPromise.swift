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

/// A running request that sends a file, and collects the response in memory.
///
/// `@unchecked Sendable` like `RequestPromise`: the class adds no state.
public final class UploadPromise: RequestPromise<DataResult>, @unchecked Sendable {}
