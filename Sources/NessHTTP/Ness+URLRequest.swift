import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Ness {
    /// Makes a builder from a `URLRequest`, for code that has one already.
    ///
    /// The builder copies the method, the URL, the header fields, the body in memory, `timeoutInterval` and `allowsCellularAccess`; on
    /// Apple platforms also `allowsExpensiveNetworkAccess` and `allowsConstrainedNetworkAccess`. A `timeoutInterval` of 60 seconds, the
    /// default of a `URLRequest`, keeps the manager's timeout. Ness ignores all other properties, such as the cache policy.
    ///
    /// ```swift
    /// var old = URLRequest(url: url)
    /// old.setValue("1", forHTTPHeaderField: "X-Client")
    /// let user = ness.httpRequest(old).dataRequest(decoding: User.self)
    /// ```
    /// - Parameter request: The request. Without a URL, or with an `httpBodyStream`, it fails with `NessError.Kind.invalidRequest` when it
    ///   is started. `RequestBuilder.set(streamBody:)` sends a sequence.
    /// - Returns: A builder, which can be changed like any other.
    public func httpRequest(_ request: URLRequest) -> RequestBuilder {
        let method = request.httpMethod.map(HTTPMethod.init) ?? .get
        let start = request.url.map { httpRequest(method, withUrl: $0) } ?? httpRequest(method, withUrl: "")
        return start.with { builder in
            builder.headers = HTTPHeaders(request.allHTTPHeaderFields ?? [:])
            if let body = request.httpBody {
                builder.body = .success(HTTPBody(body))
            } else if request.httpBodyStream != nil {
                builder.body = .failure(InvalidRequest("an httpBodyStream can't be read: see set(streamBody:)"))
            }
            // NaN becomes zero. A timeout above 30 years means no limit.
            if request.timeoutInterval != 60 { builder.timeout = .seconds(min(Double.maximum(0, request.timeoutInterval), 1e9)) }
            if !request.allowsCellularAccess { builder.settings.excludedNetworks.insert(.cellular) }
            #if !canImport(FoundationNetworking)
            if !request.allowsExpensiveNetworkAccess { builder.settings.excludedNetworks.insert(.expensive) }
            if !request.allowsConstrainedNetworkAccess { builder.settings.excludedNetworks.insert(.constrained) }
            #endif
        }
    }
}
