import Foundation

/// Sends what builders describe: the manager, as far as builders know it.
///
/// A builder and a request that runs hold their sender, so that a manager lives as long as they do.
protocol RequestSender: AnyObject, Sendable {
    /// The settings of requests that choose none themselves.
    var defaults: RequestDefaults { get }
    /// The environment in which a request begins now.
    var environment: ServerEnvironment { get }
    /// The requests that are in flight.
    var running: RunningRequests { get }
    /// The clock of every wait.
    var timekeeper: Timekeeper { get }
    /// Sends a call's request through the pipeline.
    /// - Throws: `NessError`, or the error of a loader of the caller's.
    func perform(_ call: Call) async throws -> HTTPResponse
}

/// The settings of requests that choose none themselves: see `Ness.Configuration`.
struct RequestDefaults: Sendable {
    var timeout: Duration
    var deadline: Duration?
    var redirects: RedirectPolicy
    var allowsInsecureRedirects: Bool
    var secrets: SecretNames
    /// True if the manager's default headers say which types of content are accepted.
    var hasAccept: Bool
    var checksContentType: Bool
    var decodingErrors: (any DecodableError.Type)?
    var jsonDecoder: JSONDecoder
    var jsonEncoder: JSONEncoder?
}
