import Foundation

/// The manager's name in iONess.
public typealias NetworkSessionManager = Ness

/// The sending methods of iONess with a retry policy, in place of `set(retry:)`.
extension RequestBuilder {
    /// Sends the request like `dataRequest()`.
    /// - Parameter retryControl: The retry policy, as with `set(retry:)`.
    /// - Returns: The promise of `dataRequest()`.
    @discardableResult
    public func dataRequest(with retryControl: any RetryControl) -> DataPromise { set(retry: retryControl).dataRequest() }

    /// Sends a file like `uploadRequest(forFileLocation:)`.
    /// - Parameters:
    ///   - file: The URL of the file.
    ///   - retryControl: The retry policy, as with `set(retry:)`.
    /// - Returns: The promise of `uploadRequest(forFileLocation:)`.
    @discardableResult
    public func uploadRequest(forFileLocation file: URL, with retryControl: any RetryControl) -> UploadPromise {
        set(retry: retryControl).uploadRequest(forFileLocation: file)
    }

    /// Saves the response in a file like `downloadRequest(forSavedLocation:identifiedBy:segments:coding:expecting:createsFolders:)`.
    /// - Parameters:
    ///   - file: The destination.
    ///   - retryControl: The retry policy, as with `set(retry:)`.
    /// - Returns: The promise of that method.
    @discardableResult
    public func downloadRequest(forSavedLocation file: URL, with retryControl: any RetryControl) -> DownloadPromise {
        set(retry: retryControl).downloadRequest(forSavedLocation: file)
    }
}

/// The setters of arrays in iONess. `set(jsonEncodable:)` and `set(jsonBody:)` take arrays as well.
extension RequestBuilder {
    /// Sets a JSON array, usually as a literal: `[1, "two", nil]`.
    /// - Parameter arrayJsonBody: The elements.
    public func set(arrayJsonBody: [JSONValue]) -> RequestBuilder { set(jsonBody: .array(arrayJsonBody)) }

    /// Sets a JSON array with elements of any `Encodable` types.
    /// - Parameter arrayJsonBody: The elements. `nil` becomes null.
    @_disfavoredOverload
    public func set(arrayJsonBody: [(any Encodable & Sendable)?]) -> RequestBuilder {
        set(body: Result { try .json(encoding: arrayJsonBody.map(AnyEncodable.init)) })
    }

    /// Sets an array of values as the body, as JSON.
    /// - Parameters:
    ///   - arrayJsonEncodable: The values.
    ///   - encoder: The encoder; `nil` for the manager's.
    public func set(arrayJsonEncodable: [some Encodable], with encoder: JSONEncoder? = nil) -> RequestBuilder {
        set(jsonEncodable: arrayJsonEncodable, with: encoder)
    }
}
