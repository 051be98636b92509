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
    /// The content; none unless given. It knows no manager: what shall be encoded by the manager's `jsonEncoder` is set in `prepare(_:)`,
    /// with `set(jsonEncodable:)`.
    /// - Throws: What keeps the request from being sent.
    func body() throws -> HTTPBody?
    /// Adds what the other members have no word for: time limits, options, a group, an authentication. Nothing unless given.
    /// - Parameter builder: The request that the other members make.
    /// - Returns: The request to send.
    func prepare(_ builder: RequestBuilder) -> RequestBuilder
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
    /// The request as it is.
    public func prepare(_ builder: RequestBuilder) -> RequestBuilder { builder }
}

/// What a response means: the other half.
public protocol ResponseSpec: Sendable {
    /// What the response is turned into.
    associatedtype ResponseModel: Sendable
    /// What some statuses stand for, whatever their bodies say; none unless given. `[404: []]` makes a 404 an empty list.
    var standIns: [Int: ResponseModel] { get }
    /// True if the response is JSON, as for every model that is `Decodable` unless given. The request then says `Accept: application/json`
    /// unless it sets `Accept`, and a response whose Content-Type says that it is not JSON is refused. False for a model that is parsed from
    /// anything else.
    var expectsJSON: Bool { get }
    /// The type of the API's errors, decoded from the body of a response that is refused for its status; the manager's `decodingErrors`
    /// unless given.
    var decodingErrors: (any DecodableError.Type)? { get }
    /// Returns true if the response is one to be parsed; 2xx and the statuses of `standIns` unless given. Runs off the main thread.
    /// - Parameter response: The response.
    func validate(response: HTTPResponse) -> Bool
    /// Turns the response into its model. Runs off the main thread.
    /// - Parameter response: The response, which is valid.
    /// - Throws: What becomes the request's error.
    func parseResponse(response: HTTPResponse) throws -> ResponseModel
}

extension ResponseSpec {
    /// None.
    public var standIns: [Int: ResponseModel] { [:] }
    /// Whether the status is 2xx, or one of `standIns`.
    public func validate(response: HTTPResponse) -> Bool {
        (200..<300).contains(response.statusCode) || standIns.keys.contains(response.statusCode)
    }
}

extension ResponseSpec {
    /// False: the spec parses the response itself.
    public var expectsJSON: Bool { false }
    /// None: the manager's type counts.
    public var decodingErrors: (any DecodableError.Type)? { nil }
}

extension ResponseSpec where ResponseModel == String {
    /// False: a text is rarely a JSON string.
    public var expectsJSON: Bool { false }
}

extension ResponseSpec where ResponseModel == Data {
    /// False: bytes are rarely a JSON string.
    public var expectsJSON: Bool { false }
}

extension ResponseSpec where ResponseModel: Decodable {
    /// True.
    public var expectsJSON: Bool { true }
    /// Decodes the body as JSON.
    public func parseResponse(response: HTTPResponse) throws -> ResponseModel { try response.parseJSONBody() }
}

extension ResponseSpec where ResponseModel == Void {
    /// Nothing: what the body holds does not matter.
    public func parseResponse(response: HTTPResponse) throws {}
}

/// One call of an API, whole: what it sends and what its answer means.
///
/// ```swift
/// struct GetUser: ConnectionSpec {
///     typealias ResponseModel = User
///     let id: Int
///     var url: String { "users/\(id)" }
/// }
/// let user = try await ness.request(GetUser(id: 1)).value
/// ```
///
/// What many have in common goes into a protocol of one's own that refines this one, with the common answers in an extension:
///
/// ```swift
/// protocol ShopSpec: ConnectionSpec { var path: String { get } }
///
/// extension ShopSpec {
///     var url: String { "shop/v2/\(path)" }
///     var headers: HTTPHeaders { ["Accept": "application/json"] }
///     func prepare(_ builder: RequestBuilder) -> RequestBuilder { builder.group("shop").set(timeout: .seconds(10)) }
/// }
/// extension ShopSpec where ResponseModel: Decodable {
///     func parseResponse(response: HTTPResponse) throws -> ResponseModel { try response.parseJSONBody(with: shopDecoder) }
/// }
///
/// struct Orders: ShopSpec {
///     let path = "orders"
///     let standIns: [Int: [Order]] = [404: []]
/// }
/// ```
public protocol ConnectionSpec: RequestSpec, ResponseSpec {}

/// A spec's own word on its responses.
struct SpecValidator<Spec: ResponseSpec>: ResponseValidator {
    let spec: Spec

    func validate(for response: HTTPResponse) -> ResponseValidatorResult {
        spec.validate(response: response) ? .valid : .invalidWithReason("\(Spec.self) does not take the status \(response.statusCode)")
    }
}
