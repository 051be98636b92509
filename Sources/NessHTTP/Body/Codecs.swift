import Foundation

/// Encodes a value as the body of a request.
///
/// ```swift
/// struct CSVEncoder: HTTPBodyEncoder {
///     var relatedHeaders: [String: String]? { ["Content-Type": "text/csv"] }
///     func encode(_ rows: [[String]]) throws -> Data {
///         let lines = rows.map { row in
///             row.map { "\"\($0.replacing("\"", with: "\"\""))\"" }
///                 .joined(separator: ",")
///         }
///         return Data(lines.joined(separator: "\r\n").utf8)
///     }
/// }
///
/// let request = ness.post("cats")
///     .set(body: [["Tabby", "3"], ["Tom", "5"]], with: CSVEncoder())
/// ```
public protocol HTTPBodyEncoder: Sendable {
    /// The type that the encoder takes.
    associatedtype Value
    /// The header fields that describe the body, such as `Content-Type`. Both `nil` and an empty dictionary mean none. The fields belong to
    /// the body, and are removed when another body replaces it.
    var relatedHeaders: [String: String]? { get }
    /// Encodes a value. Runs in the call that sets the body, on the caller's thread.
    /// - Parameter value: The value.
    /// - Returns: The bytes.
    /// - Throws: An error, which fails the request with `NessError.Kind.invalidRequest` when it is started.
    func encode(_ value: Value) throws -> Data
}

extension HTTPBodyEncoder {
    /// `nil`: no header fields.
    public var relatedHeaders: [String: String]? { nil }
}

/// Decodes the body of a response.
public protocol ResponseDecoder: Sendable {
    /// The type that the decoder returns.
    associatedtype Decoded
    /// Decodes a body. Runs on the thread that reads the response.
    /// - Parameter data: The body, with any content coding removed.
    /// - Returns: The value.
    /// - Throws: An error, which becomes the underlying error of `NessError.Kind.decoding`.
    func decode(from data: Data) throws -> Decoded
}
