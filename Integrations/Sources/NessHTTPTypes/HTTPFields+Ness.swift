import Foundation
import HTTPTypes
import NessHTTP

extension HTTPHeaders {
    /// Makes header fields from those of swift-http-types, in their order, with repeated names.
    /// - Parameter fields: The fields.
    public init(_ fields: HTTPFields) {
        self.init()
        for field in fields { add(field.value, for: field.name.rawName) }
    }
}

extension HTTPFields {
    /// Makes fields from those of Ness, in their order, with repeated names. A field whose name is not a token (RFC 9110, section 5.6.2) is
    /// left out: HTTPTypes cannot express it, and nothing can send it.
    /// - Parameter headers: The fields.
    public init(_ headers: HTTPHeaders) {
        self.init()
        for field in headers {
            guard let name = HTTPField.Name(field.name) else { continue }
            append(HTTPField(name: name, value: field.value))
        }
    }
}

/// A request or a response that cannot be converted.
public struct ConversionError: Error, Sendable, CustomStringConvertible {
    /// The reason, without the values of the message.
    public let description: String
}

extension NessHTTP.HTTPRequest {
    /// Makes a request from one of swift-http-types.
    /// - Parameters:
    ///   - request: The request.
    ///   - body: The content; `nil` for none.
    /// - Throws: `ConversionError`, if the request has no scheme or authority, if its path does not start with a slash, or if they make no
    ///   URL.
    public init(_ request: HTTPTypes.HTTPRequest, body: HTTPBody? = nil) throws {
        self.init(.custom(request.method.rawValue), url: try request.nessURL, headers: HTTPHeaders(request.headerFields), body: body)
    }
}

extension HTTPTypes.HTTPRequest {
    /// Makes a request of swift-http-types from one of Ness, without its body. The header fields are those of the request and of its body.
    /// - Parameter request: The request.
    /// - Throws: `ConversionError`, if the method is not a token, or if the URL has no scheme or host.
    public init(_ request: NessHTTP.HTTPRequest) throws {
        guard let method = HTTPTypes.HTTPRequest.Method(request.method.rawValue) else {
            throw ConversionError(description: "the method is not a token")
        }
        guard let url = URLComponents(url: request.url, resolvingAgainstBaseURL: true), let scheme = url.scheme,
            let host = url.percentEncodedHost, !host.isEmpty
        else { throw ConversionError(description: "the URL of the request has no scheme or no host") }
        let path = url.percentEncodedPath.isEmpty ? "/" : url.percentEncodedPath
        var fields = request.headers
        for field in request.body?.headers ?? [:] where !fields.contains(field.name) { fields.add(field.value, for: field.name) }
        self.init(
            method: method, scheme: scheme, authority: url.port.map { "\(host):\($0)" } ?? host,
            path: url.percentEncodedQuery.map { "\(path)?\($0)" } ?? path, headerFields: HTTPFields(fields))
    }

    /// The URL of the request. Its server is exactly the one that scheme and authority name: no path can change it.
    var nessURL: URL {
        get throws {
            guard let scheme, let authority, !authority.isEmpty else {
                throw ConversionError(description: "the request has no scheme or no authority")
            }
            let path = path ?? "/"
            guard path.hasPrefix("/"), !path.contains("#") else {
                throw ConversionError(description: "the path of the request does not start with a slash, or has a fragment")
            }
            let isHostAndPort = !authority.utf8.contains { Self.delimiters.contains($0) }
            guard isHostAndPort, let url = URL(string: "\(scheme)://\(authority)\(path)"), url.user == nil, url.host?.isEmpty == false,
                url.scheme?.lowercased() == scheme.lowercased()
            else { throw ConversionError(description: "scheme, authority and path of the request make no URL") }
            return url
        }
    }

    /// The characters that end an authority, or that separate user information from it (RFC 3986, 3.2).
    private static let delimiters = Set("/?#\\@".utf8)
}

extension HTTPTypes.HTTPResponse {
    /// Makes the head of a response of swift-http-types.
    /// - Parameter response: The response, whose body is left out. A status with more than three digits becomes 599.
    public init(_ response: NessHTTP.HTTPResponse) {
        let isValid = (0...999).contains(response.statusCode)
        self.init(status: Status(code: isValid ? response.statusCode : 599), headerFields: HTTPFields(response.headers))
    }
}

extension NessHTTP.HTTPResponse {
    /// Makes a response from the head of one of swift-http-types, for example in a mock.
    /// - Parameters:
    ///   - response: The head.
    ///   - body: The content.
    ///   - request: The request that the response is for.
    public init(_ response: HTTPTypes.HTTPResponse, body: Data = Data(), request: NessHTTP.HTTPRequest) {
        self.init(statusCode: response.status.code, headers: HTTPHeaders(response.headerFields), body: body, request: request)
    }
}
