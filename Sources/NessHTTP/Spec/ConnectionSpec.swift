import Foundation

/// What a request says: one half of a typed API.
public protocol RequestSpec: Sendable {
    /// The target, absolute or relative to the manager's base URL.
    var url: String { get }
    /// The method; GET unless given.
    var httpMethod: HTTPMethod { get }
    /// The header fields; none unless given.
    var headers: HTTPHeaders { get }
    /// The parameters of the URL; none unless given.
    var urlQuery: URLQuery? { get }
    /// The content; none unless given.
    /// - Throws: What keeps the request from being sent.
    func body() throws -> HTTPBody?
}

extension RequestSpec {
    /// GET.
    public var httpMethod: HTTPMethod { .get }
    /// None.
    public var headers: HTTPHeaders { [:] }
    /// None.
    public var urlQuery: URLQuery? { nil }
    /// None.
    public func body() throws -> HTTPBody? { nil }
}

/// What a response means: the other half.
public protocol ResponseSpec: Sendable {
    /// What the response is turned into.
    associatedtype ResponseModel: Sendable
    /// Whether the response is one to be parsed; 2xx unless given. Runs off the main thread.
    /// - Parameter response: The response.
    func validate(response: HTTPResponse) -> Bool
    /// Turns the response into its model. Runs off the main thread.
    /// - Parameter response: The response, which is valid.
    /// - Throws: What becomes the request's error.
    func parseResponse(response: HTTPResponse) throws -> ResponseModel
}

extension ResponseSpec {
    /// Whether the status is 2xx.
    public func validate(response: HTTPResponse) -> Bool { (200..<300).contains(response.statusCode) }
}

extension ResponseSpec where ResponseModel: Decodable {
    /// Decodes the body as JSON.
    public func parseResponse(response: HTTPResponse) throws -> ResponseModel { try response.parseJSONBody() }
}

extension ResponseSpec where ResponseModel == Void {
    /// Nothing: what the body holds does not matter.
    public func parseResponse(response: HTTPResponse) throws {}
}

/// One call of an API, whole: what it sends and what its answer means.
///
/// What many have in common goes into a protocol of one's own that refines this one, with the common answers in an extension.
///
/// ```swift
/// struct GetUser: ConnectionSpec {
///     typealias ResponseModel = User
///     let id: Int
///     var url: String { "users/\(id)" }
/// }
/// let user = try await ness.request(GetUser(id: 1)).value
/// ```
public protocol ConnectionSpec: RequestSpec, ResponseSpec {}

extension Ness {
    /// Sends what a spec says and promises what it makes of the answer.
    /// - Parameters:
    ///   - spec: The spec.
    ///   - retryControl: What decides on further attempts, instead of the manager's.
    /// - Returns: A promise of the model. It fails with `NessError`, or with what the spec threw.
    @discardableResult
    public func request<Spec: ConnectionSpec>(_ spec: Spec, with retryControl: (any RetryControl)? = nil) -> Promise<Spec.ResponseModel> {
        httpRequest(spec.httpMethod, withUrl: spec.url)
            .set(headers: spec.headers)
            .set(urlParameters: spec.urlQuery ?? URLQuery())
            .set(body: Result { try spec.body() })
            .validate(using: SpecValidator(spec: spec))
            .dataRequest(parsedBy: { try spec.parseResponse(response: $0) }, with: retryControl)
    }
}

/// A spec's own word on its responses.
private struct SpecValidator<Spec: ResponseSpec>: ResponseValidator {
    let spec: Spec

    func validate(for response: HTTPResponse) -> ResponseValidatorResult {
        spec.validate(response: response) ? .valid : .invalidWithReason("\(Spec.self) does not take the status \(response.statusCode)")
    }
}
