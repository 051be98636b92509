import Foundation

/// A request with the type of its response. It suits an API that is written as a list of static members.
///
/// ```swift
/// extension TypedRequest where Response == User {
///     static func user(_ id: Int) -> Self { .get("users", id) }
/// }
/// ```
///
/// The compiler infers the type of the request:
///
/// ```swift
/// let user = try await ness.request(.user(42)).value
/// ```
public struct TypedRequest<Response: Sendable>: ConnectionSpec {
    /// The method.
    public var httpMethod: HTTPMethod
    /// The target, absolute or relative to the manager's base URL.
    public var url: String
    /// The values that follow the target as path segments.
    private var segments: [String]
    /// The header fields.
    public var headers: HTTPHeaders = [:]
    /// The query parameters.
    public var urlQuery: URLQuery?
    /// The values for certain statuses, whose bodies are then ignored: `[404: []]` makes a 404 an empty list.
    public var statusFallbacks: [Int: Response] = [:]
    /// A Boolean value that indicates whether the response is JSON: see `ResponseSpec.expectsJSON`.
    public var expectsJSON = false
    /// Converts a response to the value. Runs off the main thread.
    private let decode: @Sendable (HTTPResponse) throws -> Response
    /// Adds the body to the builder, whose manager encodes it.
    private var addBody: @Sendable (RequestBuilder) -> RequestBuilder = { $0 }

    /// Makes a request.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The target, absolute or relative to the manager's base URL.
    ///   - segments: Values that follow as path segments: see `Ness.httpRequest(_:withUrl:_:)`.
    ///   - query: The query parameters.
    ///   - decode: Converts a response with a 2xx status to the value. Runs off the main thread.
    public init(
        _ method: HTTPMethod, _ url: String, _ segments: any CustomStringConvertible..., query: URLQuery = URLQuery(),
        decode: @escaping @Sendable (HTTPResponse) throws -> Response
    ) {
        httpMethod = method
        self.url = url
        self.segments = segments.map(\.description)
        urlQuery = query
        self.decode = decode
    }

    /// Adds the path segments and the body.
    public func prepare(_ builder: RequestBuilder) -> RequestBuilder { addBody(segments.isEmpty ? builder : builder.appending(segments)) }

    /// Decodes the response.
    public func parseResponse(response: HTTPResponse) throws -> Response { try decode(response) }

    /// Returns the request with a value for a status, such as an empty list for 404.
    /// - Parameters:
    ///   - statusCode: The status.
    ///   - value: The value.
    public func mapping(statusCode: Int, to value: Response) -> TypedRequest { with { $0.statusFallbacks[statusCode] = value } }

    // MARK: bodies

    /// Returns the request with a value as JSON.
    /// - Parameter value: The value. The manager that sends the request encodes it with its `jsonEncoder`. A value that cannot be encoded
    ///   fails the request with `NessError.Kind.invalidRequest`.
    public func body(json value: some Encodable & Sendable) -> TypedRequest { body { $0.set(jsonEncodable: value) } }

    /// Returns the request with a finished body, such as `.form(["name": "Ada"])`.
    /// - Parameter body: The body; `nil` for none.
    public func body(_ body: HTTPBody?) -> TypedRequest { self.body { $0.set(body: body) } }

    private func body(_ add: @escaping @Sendable (RequestBuilder) -> RequestBuilder) -> TypedRequest { with { $0.addBody = add } }

    private func with(_ change: (inout TypedRequest) -> Void) -> TypedRequest {
        var copy = self
        change(&copy)
        return copy
    }
}

extension TypedRequest where Response: Decodable {
    /// Makes a request whose response is JSON.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The target.
    ///   - segments: Values that follow as path segments.
    ///   - query: The query parameters.
    public init(_ method: HTTPMethod, _ url: String, _ segments: any CustomStringConvertible..., query: URLQuery = URLQuery()) {
        self.init(method, url, query: query) { try $0.value(of: Response.self) }
        self.segments = segments.map(\.description)
        expectsJSON = !(Response.self is any RawContent.Type)
    }

    /// Makes a GET whose response is JSON.
    /// - Parameters:
    ///   - url: The target.
    ///   - segments: Values that follow as path segments.
    ///   - query: The query parameters.
    public static func get(_ url: String, _ segments: any CustomStringConvertible..., query: URLQuery = URLQuery()) -> TypedRequest {
        TypedRequest(.get, url, query: query).with { $0.segments = segments.map(\.description) }
    }
}

extension TypedRequest where Response == Void {
    /// Makes a request that requires a 2xx status and ignores the body of the response.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The target.
    ///   - segments: Values that follow as path segments.
    ///   - query: The query parameters.
    public init(_ method: HTTPMethod, _ url: String, _ segments: any CustomStringConvertible..., query: URLQuery = URLQuery()) {
        self.init(method, url, query: query) { _ in }
        self.segments = segments.map(\.description)
    }
}

extension TypedRequest: RedactedValue {
    /// The method and the URL with its parameters, without the values that are secret by `Ness.Configuration.secretNames`.
    package var redactedDescription: String {
        let query = urlQuery?.encoded ?? ""
        let parameters = query.isEmpty ? "" : (url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + query
        let path = segments.map { "/\($0)" }.joined()
        return "\(httpMethod.rawValue.oneLine) \(Redactor().redacted(urlText: url + path + parameters))"
    }
}
