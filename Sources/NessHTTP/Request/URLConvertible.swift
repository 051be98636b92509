import Foundation

/// What a request can be sent to: a `String` or a `URL`.
public protocol URLConvertible: Sendable {
    /// The URL.
    /// - Throws: `InvalidURL` where there is none.
    func asURL() throws -> URL
    /// The text, for an error's description.
    var urlText: String { get }
}

/// A text that is no URL.
public struct InvalidURL: Error, Sendable, CustomStringConvertible {
    /// What is the matter with it.
    public let description: String
}

extension URL: URLConvertible {
    /// Itself.
    public func asURL() throws -> URL { self }
    /// The absolute form.
    public var urlText: String { absoluteString }
}

extension String: URLConvertible {
    /// Reads the text as a URL or a relative reference (RFC 3986). Spaces and characters beyond ASCII are percent-encoded; control
    /// characters are refused, never removed or encoded.
    public func asURL() throws -> URL {
        if isEmpty { throw InvalidURL(description: "the URL is empty") }
        if unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) {
            throw InvalidURL(description: "the URL has a control character")
        }
        guard let url = URL(string: self) else { throw InvalidURL(description: "the text is not a URL") }
        return url
    }
    /// Itself.
    public var urlText: String { self }
}
