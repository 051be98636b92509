import Foundation

/// A request that knows what its answer is: for APIs as a list of short members.
///
/// ```swift
/// extension TypedRequest where Response == User {
///     static func user(_ id: Int) -> Self { .get("users/\(id)") }
/// }
/// let user = try await ness.request(.user(42)).value
/// ```
public struct TypedRequest<Response: Sendable>: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// The target, absolute or relative to the manager's base URL.
    public var url: String
    /// The header fields.
    public var headers: HTTPHeaders = [:]
    /// The parameters of the URL.
    public var query = URLQuery()
    private var content = Content.body(.success(nil))
    /// Which statuses `decode` can make something of; 2xx unless changed.
    public var accepts: @Sendable (Int) -> Bool = { (200..<300).contains($0) }
    /// Makes the value of a response. Runs off the main thread.
    public var decode: @Sendable (HTTPResponse) throws -> Response

    /// Where the content comes from.
    private enum Content: Sendable {
        case body(Result<HTTPBody?, any Error>)
        /// Not encoded before it is known which manager sends it.
        case json(any Encodable & Sendable)
    }

    /// The content, or why there is none. What `post(_:json:)` and `put(_:json:)` were given stands here as it is without an encoder of a
    /// manager's; setting a body replaces it.
    public var body: Result<HTTPBody?, any Error> {
        get { body(encodedBy: nil) }
        set { content = .body(newValue) }
    }

    /// The content as a manager sends it.
    /// - Parameter encoder: The manager's encoder.
    fileprivate func body(encodedBy encoder: JSONEncoder?) -> Result<HTTPBody?, any Error> {
        switch content {
        case .body(let body): body
        case .json(let value): Result { try .json(encoding: value, with: encoder) }
        }
    }

    /// Makes a request.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The target, absolute or relative to the manager's base URL.
    ///   - query: The parameters of the URL.
    ///   - decode: Makes the value of a response. Runs off the main thread.
    public init(
        _ method: HTTPMethod, _ url: String, query: URLQuery = URLQuery(), decode: @escaping @Sendable (HTTPResponse) throws -> Response
    ) {
        self.method = method
        self.url = url
        self.query = query
        self.decode = decode
    }

    /// The same, with other statuses to make something of: 404 as an empty list, say.
    /// - Parameters:
    ///   - statusCode: The status.
    ///   - value: What it stands for.
    public func mapping(statusCode: Int, to value: Response) -> TypedRequest {
        var copy = self
        let (accepts, decode) = (accepts, decode)
        copy.accepts = { $0 == statusCode || accepts($0) }
        copy.decode = { response in response.statusCode == statusCode ? value : try decode(response) }
        return copy
    }
}

extension TypedRequest where Response: Decodable {
    /// A GET whose answer is JSON.
    /// - Parameters:
    ///   - url: The target.
    ///   - query: The parameters of the URL.
    public static func get(_ url: String, query: URLQuery = URLQuery()) -> TypedRequest {
        TypedRequest(.get, url, query: query) { try $0.parseJSONBody() }
    }

    /// A DELETE whose answer is JSON.
    /// - Parameter url: The target.
    public static func delete(_ url: String) -> TypedRequest { TypedRequest(.delete, url) { try $0.parseJSONBody() } }

    /// A POST of JSON whose answer is JSON.
    /// - Parameters:
    ///   - url: The target.
    ///   - body: What is sent, encoded by the encoder of the manager that sends it. What can't be encoded fails with
    ///     `NessError.invalidRequest` there.
    public static func post(_ url: String, json body: some Encodable & Sendable) -> TypedRequest { sending(.post, url, body) }

    /// A PUT of JSON whose answer is JSON.
    /// - Parameters:
    ///   - url: The target.
    ///   - body: What is sent, encoded by the encoder of the manager that sends it. What can't be encoded fails with
    ///     `NessError.invalidRequest` there.
    public static func put(_ url: String, json body: some Encodable & Sendable) -> TypedRequest { sending(.put, url, body) }

    private static func sending(_ method: HTTPMethod, _ url: String, _ body: some Encodable & Sendable) -> TypedRequest {
        var request = TypedRequest(method, url) { try $0.parseJSONBody() }
        request.content = .json(body)
        return request
    }
}

extension TypedRequest where Response == Void {
    /// A DELETE whose answer does not matter, if its status is 2xx.
    /// - Parameter url: The target.
    public static func delete(_ url: String) -> TypedRequest { TypedRequest(.delete, url) { _ in } }
}

extension Ness {
    /// Sends a typed request.
    /// - Parameters:
    ///   - request: The request.
    ///   - retryControl: What decides on further attempts, instead of the manager's.
    /// - Returns: A promise of its value. It fails with `NessError`, or with what `decode` threw.
    @discardableResult
    public func request<Response: Sendable>(
        _ request: TypedRequest<Response>, with retryControl: (any RetryControl)? = nil
    ) -> Promise<Response> {
        httpRequest(request.method, withUrl: request.url)
            .set(headers: request.headers)
            .set(urlParameters: request.query)
            .set(body: request.body(encodedBy: configuration.jsonEncoder))
            .validate(using: StatusPredicate(accepts: request.accepts))
            .dataRequest(parsedBy: request.decode, with: retryControl)
    }
}

/// Accepts the statuses that a typed request can make something of.
private struct StatusPredicate: ResponseValidator {
    let accepts: @Sendable (Int) -> Bool

    func validate(for response: HTTPResponse) -> ResponseValidatorResult {
        accepts(response.statusCode) ? .valid : .invalidWithReason("the request makes nothing of the status \(response.statusCode)")
    }
}
