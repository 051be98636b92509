import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension HTTPRequest {
    /// True if the request must not use a connection that may have died since its last use: it has a body, or must not be sent twice.
    var needsYoungConnection: Bool { body != nil || !isIdempotent }
}

/// URLSession's form of a request.
extension URLSessionTransport {
    package static func makeURLRequest(_ request: HTTPRequest) throws -> URLRequest { try makeURLRequest(request, on: .current) }

    /// Makes URLSession's form of a request, without its body.
    static func makeURLRequest(_ request: HTTPRequest, on system: URLSessionSystem) throws -> URLRequest {
        if system == .linux, request.url.host?.contains(":") == true || request.url.absoluteString.contains("://[") {
            throw TransportError(.invalidRequest, "URLSession on Linux can't connect to an IPv6 literal; use a host name")
        }
        var urlRequest = URLRequest(url: request.url)
        urlRequest.httpMethod = request.method.rawValue
        guard urlRequest.httpMethod == request.method.rawValue else {
            throw TransportError(.invalidRequest, "URLSession would send the method \(request.method) in upper case")
        }
        urlRequest.timeoutInterval = never
        urlRequest.httpShouldHandleCookies = false
        let excluded = request.settings.excludedNetworks
        urlRequest.allowsCellularAccess = !excluded.contains(.cellular)
        #if !canImport(FoundationNetworking)
        urlRequest.allowsExpensiveNetworkAccess = !excluded.contains(.expensive)
        urlRequest.allowsConstrainedNetworkAccess = !excluded.contains(.constrained)
        #endif
        for field in request.headers {
            // White space around a value has no meaning, but libcurl omits a field whose value is only white space.
            urlRequest.addValue(HeaderFieldValue.trimmed(field.value), forHTTPHeaderField: field.name)
        }
        // URLSession's own value would change with the system, and the pipeline would not know it.
        if !request.headers.contains(HeaderName.userAgent) {
            urlRequest.setValue(HTTPHeaders.defaultUserAgent, forHTTPHeaderField: HeaderName.userAgent)
        }
        // Without a value URLSession on Apple platforms would send the user's languages, which the pipeline does not know: the cache would
        // return a response in one language to a request that prefers another.
        if !request.headers.contains(HeaderName.acceptLanguage) {
            urlRequest.setValue(system == .apple ? "*" : leftOut, forHTTPHeaderField: HeaderName.acceptLanguage)
        }
        if system == .linux, !request.headers.contains(HeaderName.acceptEncoding) {
            urlRequest.setValue("identity", forHTTPHeaderField: HeaderName.acceptEncoding)
        }
        if let body = request.body {
            for field in body.headers where !request.headers.contains(field.name) {
                urlRequest.addValue(field.value, forHTTPHeaderField: field.name)
            }
            // Without a Content-Type, URLSession on Linux declares the body to be a form.
            if urlRequest.value(forHTTPHeaderField: HeaderName.contentType) == nil {
                urlRequest.setValue("application/octet-stream", forHTTPHeaderField: HeaderName.contentType)
            }
        }
        return urlRequest
    }

    /// The value of a field that URLSession on Linux is to omit: libcurl omits a field whose value is only white space. Without a value,
    /// URLSession and libcurl would add their own. An empty value would be sent as an empty field, and some servers respond to an empty
    /// `Expect` with 417.
    private static let leftOut = " "

    /// The longest body in bytes that is read into memory. A longer one is streamed, so that it takes little memory.
    private static let maximumLengthInMemory = 1 << 20

    /// Sets the request's body if it is to be in memory. Returns the body if it is to be streamed.
    static func place(_ body: HTTPBody?, in urlRequest: inout URLRequest, on system: URLSessionSystem) throws -> HTTPBody? {
        guard let body else { return nil }
        if let data = body.data {
            urlRequest.httpBody = data
            return nil
        }
        guard body.isResolved else { throw TransportError(.invalidRequest, "the body was not resolved before it was sent") }
        if let length = body.length, length <= maximumLengthInMemory, !body.isStreamed {
            let reader = body.makeReader()
            var whole = Data()
            while case let piece = try reader.read(upTo: maximumLengthInMemory), !piece.isEmpty { whole += piece }
            urlRequest.httpBody = whole
            return nil
        }
        switch system {
        // With `Expect`, libcurl would wait a second for the server's 100 response.
        case .linux: urlRequest.setValue(leftOut, forHTTPHeaderField: HeaderName.expect)
        case .apple:
            if let length = body.length { urlRequest.setValue("\(length)", forHTTPHeaderField: HeaderName.contentLength) }
        }
        return body
    }
}
