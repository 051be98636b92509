/// Adds a credential to requests, and renews it when the server rejects it.
///
/// `BasicAuthentication`, `BearerAuthentication`, `DigestAuthentication` and `RefreshableAuthentication` cover the common schemes. Write
/// your own for a scheme of your server. `RefreshableAuthentication` is the better start for a token that expires: it runs one refresh for
/// all requests that wait.
///
/// ```swift
/// /// Sends an API key, and gets a new one when the server rejects it.
/// struct KeyAuthentication: Authentication {
///     let keys: KeyStore
///
///     func authenticate(
///         _ request: HTTPRequest, in context: AuthenticationContext
///     ) async throws -> HTTPRequest {
///         var request = request
///         request.headers["X-API-Key"] = await keys.current
///         return request
///     }
///
///     func renew(
///         after response: HTTPResponse, in context: AuthenticationContext
///     ) async throws -> Bool {
///         try await keys.replace(response.request.headers["X-API-Key"])
///     }
/// }
/// ```
///
/// **Which requests.** `Ness.Configuration.authentication` applies to URLs inside the manager's base URL, compared by origin and path
/// segments: `/v1` does not contain `/v10`. A request can choose another one with `authenticate(with:)`, or none with
/// `withoutAuthentication()`. A request that sets `Authorization` itself keeps its value and is not authenticated.
///
/// **When each method is called.** `authenticate(_:in:)` is called for each attempt, and once more after a successful renewal.
/// `renew(after:in:)` is called when the server responds with 401, at most once for a request with all its attempts. If
/// `refreshesOnForbidden` is true it is also called after a 403, at most once, even if a 401 came before. A 401 after a renewal stands. A
/// transfer that resumes after a pause may renew again, and so may a resumable upload that has moved. No call follows a redirect to another origin, because that server never saw the
/// credential.
///
/// **Secrets.** Every header field that `authenticate(_:in:)` adds is treated as secret. No description shows it, and no redirect carries
/// it to another origin.
///
/// **Threads.** The methods run off the main thread, in the request's task, and for several requests at the same time. When the caller
/// drops the request, Ness cancels that task.
///
/// **Wrapping.** An authentication that wraps another must pass it the context.
///
/// **Testing.** Call the methods with an `HTTPRequest`, an `HTTPResponse` and an `AuthenticationContext()` that you make. For the whole
/// exchange, let a `MockTransport` of the module `NessTesting` return 401 first and 200 after.
public protocol Authentication: Sendable {
    /// Adds the credential to a request.
    /// - Parameters:
    ///   - request: The request, before it is sent. Its URL is absolute.
    ///   - context: The circumstances.
    /// - Returns: The request to send.
    /// - Throws: An error that ends the attempt before anything is sent.
    func authenticate(_ request: HTTPRequest, in context: AuthenticationContext) async throws -> HTTPRequest

    /// A stable name of the user whose credential `authenticate(_:in:)` adds, such as the user's number at the server. `nil` by default,
    /// and while nobody is signed in.
    ///
    /// `HTTPCache` keeps a user's responses under this name, in place of the credential. A renewed credential then finds the responses of
    /// the old one, and the cache serves the user offline even if the credential has expired. Two users must never have one name: one
    /// would get the other's responses.
    var userIdentifier: String? { get }

    /// A Boolean value that indicates whether Ness calls `renew(after:in:)` for a 403 as well. Some servers send a 403 for an expired
    /// credential. The default is `false`.
    var refreshesOnForbidden: Bool { get }

    /// Gets a new credential after the server rejected the one that was sent.
    /// - Parameters:
    ///   - response: The response that rejected it, with status 401 or 403. Its `request` is the one that `authenticate(_:in:)` returned.
    ///   - context: The circumstances.
    /// - Returns: `true` to authenticate the request again and resend it; `false` to keep that response.
    /// - Throws: An error that ends the request. Ness never retries after it.
    func renew(after response: HTTPResponse, in context: AuthenticationContext) async throws -> Bool
}

extension Authentication {
    /// `nil`: the credential stands for the user.
    public var userIdentifier: String? { nil }

    /// `false`: a 403 is a response like any other.
    public var refreshesOnForbidden: Bool { false }

    /// Returns `false`: the credential cannot be renewed.
    public func renew(after response: HTTPResponse, in context: AuthenticationContext) async throws -> Bool { false }
}
