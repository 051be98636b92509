import Foundation

/// A request that knows what its answer is: for APIs as a list of short members.
///
/// ```swift
/// extension TypedRequest where Response == User {
///     static func user(_ id: Int) -> Self { .get("users/\(id)") }
/// }
/// let user = try await ness.request(.user(42)).value
/// ```
public struct TypedRequest<Response: Sendable>: ConnectionSpec {
    /// The method.
    public var httpMethod: HTTPMethod
    /// The target, absolute or relative to the manager's base URL.
    public var url: String
    /// The header fields.
    public var headers: HTTPHeaders = [:]
    /// The parameters of the URL.
    public var query = URLQuery()
    /// The statuses that stand for a value, whatever the body says: `[404: []]` makes a 404 an empty list.
    public var standIns: [Int: Response] = [:]
    /// True if the response is JSON: see `ResponseSpec.expectsJSON`.
    public var expectsJSON = false
    /// The type of the API's errors; nil for the manager's.
    public var decodingErrors: (any DecodableError.Type)?
    /// Turns a response into the value. Runs off the main thread.
    public var decode: @Sendable (HTTPResponse) throws -> Response
    /// Adds the body, encoded by the manager that sends it.
    private var addBody: @Sendable (RequestBuilder) -> RequestBuilder = { $0 }

    /// Makes a request.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The target, absolute or relative to the manager's base URL.
    ///   - query: The parameters of the URL.
    ///   - decode: Turns a response with a 2xx status into the value. Runs off the main thread.
    public init(
        _ method: HTTPMethod, _ url: String, query: URLQuery = URLQuery(), decode: @escaping @Sendable (HTTPResponse) throws -> Response
    ) {
        httpMethod = method
        self.url = url
        self.query = query
        self.decode = decode
    }

    /// The parameters of the URL.
    public var urlQuery: URLQuery? { query }

    /// Adds the body.
    public func prepare(_ builder: RequestBuilder) -> RequestBuilder { addBody(builder) }

    /// Decodes the response.
    public func parseResponse(response: HTTPResponse) throws -> Response { try decode(response) }

    /// The same request, with a status that stands for a value: 404 for an empty list, say.
    /// - Parameters:
    ///   - statusCode: The status.
    ///   - value: The value.
    public func mapping(statusCode: Int, to value: Response) -> TypedRequest { with { $0.standIns[statusCode] = value } }

    /// The same request, with a type of errors that the API sends.
    /// - Parameter errorType: The type.
    public func decodingErrors(_ errorType: any DecodableError.Type) -> TypedRequest { with { $0.decodingErrors = errorType } }

    // MARK: bodies

    /// The same request with a value as JSON.
    /// - Parameter value: The value, encoded by the encoder of the manager that sends it. A value that cannot be encoded fails with
    ///   `NessError.invalidRequest` there.
    public func body(json value: some Encodable & Sendable) -> TypedRequest { body { $0.set(jsonEncodable: value) } }

    /// The same request with a form, as `application/x-www-form-urlencoded`.
    /// - Parameter form: The form.
    public func body(form: URLQuery) -> TypedRequest { body { $0.set(form: form) } }

    /// The same request with a form with files, as `multipart/form-data`.
    /// - Parameter multipart: The form.
    public func body(multipart: MultipartForm) -> TypedRequest { body { $0.set(multipart: multipart) } }

    /// The same request with a body that is already made.
    /// - Parameter body: The body; nil for none.
    public func body(_ body: HTTPBody?) -> TypedRequest { self.body { $0.set(body: body) } }

    private func body(_ add: @escaping @Sendable (RequestBuilder) -> RequestBuilder) -> TypedRequest { with { $0.addBody = add } }

    private func with(_ change: (inout TypedRequest) -> Void) -> TypedRequest {
        var copy = self
        change(&copy)
        return copy
    }
}

extension TypedRequest where Response: Decodable {
    /// Makes a request whose answer is JSON.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The target.
    ///   - query: The parameters of the URL.
    public init(_ method: HTTPMethod, _ url: String, query: URLQuery = URLQuery()) {
        self.init(method, url, query: query) { try $0.parseJSONBody() }
        expectsJSON = true
    }

    /// Makes a GET whose answer is JSON.
    /// - Parameters:
    ///   - url: The target.
    ///   - query: The parameters of the URL.
    public static func get(_ url: String, query: URLQuery = URLQuery()) -> TypedRequest { TypedRequest(.get, url, query: query) }

    /// Makes a POST whose answer is JSON. The body is added by `body(json:)`, `body(form:)` or `body(multipart:)`.
    /// - Parameter url: The target.
    public static func post(_ url: String) -> TypedRequest { TypedRequest(.post, url) }

    /// Makes a POST of JSON whose answer is JSON.
    /// - Parameters:
    ///   - url: The target.
    ///   - body: The value to send: see `body(json:)`.
    public static func post(_ url: String, json body: some Encodable & Sendable) -> TypedRequest { post(url).body(json: body) }

    /// Makes a PUT whose answer is JSON.
    /// - Parameter url: The target.
    public static func put(_ url: String) -> TypedRequest { TypedRequest(.put, url) }

    /// Makes a PUT of JSON whose answer is JSON.
    /// - Parameters:
    ///   - url: The target.
    ///   - body: The value to send: see `body(json:)`.
    public static func put(_ url: String, json body: some Encodable & Sendable) -> TypedRequest { put(url).body(json: body) }

    /// Makes a PATCH whose answer is JSON.
    /// - Parameter url: The target.
    public static func patch(_ url: String) -> TypedRequest { TypedRequest(.patch, url) }

    /// Makes a PATCH of JSON whose answer is JSON.
    /// - Parameters:
    ///   - url: The target.
    ///   - body: The value to send: see `body(json:)`.
    public static func patch(_ url: String, json body: some Encodable & Sendable) -> TypedRequest { patch(url).body(json: body) }

    /// Makes a DELETE whose answer is JSON.
    /// - Parameter url: The target.
    public static func delete(_ url: String) -> TypedRequest { TypedRequest(.delete, url) }
}

extension TypedRequest where Response == Void {
    /// Makes a request whose answer does not matter, if its status is 2xx.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The target.
    ///   - query: The parameters of the URL.
    public init(_ method: HTTPMethod, _ url: String, query: URLQuery = URLQuery()) { self.init(method, url, query: query) { _ in } }

    /// Makes a HEAD whose answer matters only by its status.
    /// - Parameter url: The target.
    public static func head(_ url: String) -> TypedRequest { TypedRequest(.head, url) }

    /// Makes a POST whose answer does not matter, if its status is 2xx.
    /// - Parameter url: The target.
    public static func post(_ url: String) -> TypedRequest { TypedRequest(.post, url) }

    /// Makes a POST of JSON whose answer does not matter, if its status is 2xx.
    /// - Parameters:
    ///   - url: The target.
    ///   - body: The value to send: see `body(json:)`.
    public static func post(_ url: String, json body: some Encodable & Sendable) -> TypedRequest { post(url).body(json: body) }

    /// Makes a PUT whose answer does not matter, if its status is 2xx.
    /// - Parameter url: The target.
    public static func put(_ url: String) -> TypedRequest { TypedRequest(.put, url) }

    /// Makes a PUT of JSON whose answer does not matter, if its status is 2xx.
    /// - Parameters:
    ///   - url: The target.
    ///   - body: The value to send: see `body(json:)`.
    public static func put(_ url: String, json body: some Encodable & Sendable) -> TypedRequest { put(url).body(json: body) }

    /// Makes a PATCH whose answer does not matter, if its status is 2xx.
    /// - Parameter url: The target.
    public static func patch(_ url: String) -> TypedRequest { TypedRequest(.patch, url) }

    /// Makes a PATCH of JSON whose answer does not matter, if its status is 2xx.
    /// - Parameters:
    ///   - url: The target.
    ///   - body: The value to send: see `body(json:)`.
    public static func patch(_ url: String, json body: some Encodable & Sendable) -> TypedRequest { patch(url).body(json: body) }

    /// Makes a DELETE whose answer does not matter, if its status is 2xx.
    /// - Parameter url: The target.
    public static func delete(_ url: String) -> TypedRequest { TypedRequest(.delete, url) }
}
