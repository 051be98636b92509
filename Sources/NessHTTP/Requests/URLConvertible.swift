import Foundation

/// A type that can be converted to the URL of a request: `String`, `URL` or `URLComponents`.
public protocol URLConvertible: Sendable {
    /// Converts the value to a URL.
    /// - Throws: An error if the value is not a URL.
    func asURL() throws -> URL
}

extension URL: URLConvertible {
    /// Returns the URL itself.
    public func asURL() throws -> URL { self }
}

extension URLComponents: URLConvertible {
    /// Makes a URL from the components.
    /// - Throws: An error if they do not form a URL, such as a relative path with a host.
    public func asURL() throws -> URL {
        guard let url else { throw InvalidRequest("the components do not form a URL") }
        return url
    }
}

extension String: URLConvertible {
    /// Reads the text as a URL or a relative reference (RFC 3986). Spaces and characters beyond ASCII are percent-encoded.
    /// - Throws: An error if the text is empty, has a control character, or is not a URL.
    public func asURL() throws -> URL {
        if isEmpty { throw InvalidRequest("the URL is empty") }
        // Most strings need no encoding, and then cost only this pass.
        var text = self
        if text.withUTF8({ $0.allSatisfy(\.isURLCharacter) }), let url = URL(string: self) { return url }
        if unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) {
            throw InvalidRequest("the URL has a control character")
        }
        guard let url = URL(string: percentEncodedWhereNeeded) else { throw InvalidRequest("the string is not a URL") }
        return url
    }
}
