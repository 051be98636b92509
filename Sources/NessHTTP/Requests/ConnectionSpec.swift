import Foundation

/// The request half of a typed API call: target, header fields and body.
public protocol RequestSpec: Sendable {
    /// The target, absolute or relative to the manager's base URL.
    var url: String { get }
    /// The method. The default is GET.
    var httpMethod: HTTPMethod { get }
    /// The header fields; empty by default.
    var headers: HTTPHeaders { get }
    /// The query parameters; empty by default. For those of an `Encodable` value, call `set(urlEncodable:)` in `prepare(_:)`.
    var urlQuery: URLQuery? { get }
    /// Makes the content. By default there is no content.
    ///
    /// The manager is not known here. To encode a value with the manager's `jsonEncoder`, call `set(jsonEncodable:)` in `prepare(_:)`
    /// instead.
    /// - Throws: An error, which fails the request with `NessError.Kind.invalidRequest`.
    func body() throws -> HTTPBody?
    /// Adds settings for which this protocol has no member, such as time limits, options, a group, an authentication or the type of the
    /// API's errors. The default adds none.
    /// - Parameter builder: The request made from the other members.
    /// - Returns: The request to send.
    func prepare(_ builder: RequestBuilder) -> RequestBuilder
}

extension RequestSpec {
    /// `.get`.
    public var httpMethod: HTTPMethod { .get }
    /// No header fields.
    public var headers: HTTPHeaders { [:] }
    /// No query parameters.
    public var urlQuery: URLQuery? { nil }
    /// Returns `nil`: no content.
    public func body() throws -> HTTPBody? { nil }
    /// Returns the request unchanged.
    public func prepare(_ builder: RequestBuilder) -> RequestBuilder { builder }
}

/// The response half of a typed API call: its validation and its model.
public protocol ResponseSpec: Sendable {
    /// The type to which the response is converted.
    associatedtype ResponseModel: Sendable
    /// The models for certain statuses, whose bodies are then ignored. `[404: []]` makes a 404 an empty list. Empty by default.
    var statusFallbacks: [Int: ResponseModel] { get }
    /// A Boolean value that indicates whether the response is JSON.
    ///
    /// If true, the request has `Accept: application/json` unless it sets `Accept`, and a response whose `Content-Type` is not JSON is
    /// rejected. The default is true for a `Decodable` model other than `String` and `Data`, and false otherwise.
    var expectsJSON: Bool { get }
    /// Returns true if the response is valid and can be parsed. The default accepts 2xx and the statuses in `statusFallbacks`. Runs off the
    /// main thread.
    /// - Parameter response: The response.
    func validate(response: HTTPResponse) -> Bool
    /// Converts the response to its model. Runs off the main thread.
    /// - Parameter response: The response, after it was validated.
    /// - Throws: An error, which fails the request.
    func parseResponse(response: HTTPResponse) throws -> ResponseModel
}

extension ResponseSpec {
    /// No models for statuses.
    public var statusFallbacks: [Int: ResponseModel] { [:] }
    /// Returns true if the status is 2xx or is in `statusFallbacks`.
    public func validate(response: HTTPResponse) -> Bool {
        (200..<300).contains(response.statusCode) || statusFallbacks.keys.contains(response.statusCode)
    }
    /// `false`: the spec parses the response itself.
    public var expectsJSON: Bool { false }
}

extension ResponseSpec where ResponseModel: Decodable {
    /// `true`: the model is decoded from JSON. `false` for `String`, `Data` and their optionals, which are the body itself.
    public var expectsJSON: Bool { !(ResponseModel.self is any RawContent.Type) }
    /// Decodes the body as JSON. `String` and `Data` are the body itself.
    public func parseResponse(response: HTTPResponse) throws -> ResponseModel { try response.value(of: ResponseModel.self) }
}

extension ResponseSpec where ResponseModel == Void {
    /// Does nothing: the body is ignored.
    public func parseResponse(response: HTTPResponse) throws {}
}

/// One API call as a type: the request that it sends, and the model of its response.
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
/// To share settings among the calls of an API, refine this protocol and implement the common members in an extension:
///
/// ```swift
/// protocol ShopSpec: ConnectionSpec { var path: String { get } }
///
/// extension ShopSpec {
///     var url: String { "shop/v2/\(path)" }
///     var headers: HTTPHeaders { ["Accept": "application/json"] }
///     func prepare(_ builder: RequestBuilder) -> RequestBuilder {
///         builder.add(group: "shop").set(timeout: .seconds(10))
///     }
/// }
/// extension ShopSpec where ResponseModel: Decodable {
///     func parseResponse(response: HTTPResponse) throws -> ResponseModel {
///         try response.parseJSONBody(with: shopDecoder)
///     }
/// }
///
/// struct Orders: ShopSpec {
///     let path = "orders"
///     let statusFallbacks: [Int: [Order]] = [404: []]
/// }
/// ```
public protocol ConnectionSpec: RequestSpec, ResponseSpec {}
