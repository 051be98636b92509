import Foundation

/// Makes a body of a value.
///
/// ```swift
/// struct CSVEncoder: HTTPBodyEncoder {
///     var relatedHeaders: [String: String]? { ["Content-Type": "text/csv"] }
///     func encode(_ rows: [[String]]) throws -> Data { … }
/// }
/// request.set(body: rows, with: CSVEncoder())
/// ```
public protocol HTTPBodyEncoder: Sendable {
    /// What it encodes.
    associatedtype Value
    /// The header fields that belong to what it makes; they go when another body takes its place.
    var relatedHeaders: [String: String]? { get }
    /// Encodes a value. Runs in the call that sets the body.
    /// - Parameter value: The value.
    /// - Returns: The bytes.
    /// - Throws: What keeps the request from being sent.
    func encode(_ value: Value) throws -> Data
}

extension HTTPBodyEncoder {
    /// None.
    public var relatedHeaders: [String: String]? { nil }
}

/// Makes a value of a response's body.
public protocol ResponseDecoder: Sendable {
    /// What it makes.
    associatedtype Decoded
    /// Decodes a body. Runs wherever the response is read.
    /// - Parameter data: The body, with any content coding removed.
    /// - Returns: The value.
    /// - Throws: What becomes the error beneath `NessError.decoding`.
    func decode(from data: Data) throws -> Decoded
}
