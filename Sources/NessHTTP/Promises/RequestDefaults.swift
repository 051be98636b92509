import Foundation

/// The manager's settings for requests that set none: see `Ness.Configuration`.
struct RequestDefaults: Sendable {
    var timeout: Duration
    var deadline: Duration?
    var redirects: RedirectPolicy
    var allowsInsecureRedirects: Bool
    var secrets: SecretNames
    /// The validators of all responses.
    var validators: [any ResponseValidator]
    /// True if the manager's default headers contain `Accept`.
    var hasAccept: Bool
    var checksContentType: Bool
    /// The decoding of the API's errors; `nil` for none.
    var errorDecoding: ErrorDecoding?
    var jsonDecoder: JSONDecoder
    var jsonEncoder: JSONEncoder?
}

/// An error that can be decoded from a response, such as `APIProblem`.
public typealias DecodableError = Decodable & Error

/// The decoding of an API's own errors.
enum ErrorDecoding: Sendable {
    /// From JSON, as a type.
    case json(any DecodableError.Type)
    /// By a closure.
    case custom(ErrorReader)
}
