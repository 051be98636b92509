import Foundation

/// The attempt whose request gets a credential.
protocol AuthenticatedAttempt: Sendable {
    /// The base URL for which the credential is valid; `nil` if every URL of the origin may have it.
    var credentialScope: URL? { get }
    /// True if the call has ended.
    var hasEnded: Bool { get }
    /// True if the call is from before a reset or a shutdown, which ends it.
    var isRefused: Bool { get }
    /// Sends the request with its credential.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse
    /// Runs a method of an authentication. If the cache may have a response for the user, it fails at the deadline of the call.
    /// - Parameter userIdentifier: The user's stable name; `nil` for none.
    func run<Value: Sendable>(
        for userIdentifier: String?, _ method: @escaping @Sendable () async throws -> Value
    ) async throws -> Value
    /// Uses up the renewal after a 401 or a 403.
    /// - Returns: True if it was unused.
    func consumeRenewal(after statusCode: Int) -> Bool
    /// Notes that the credential could not be renewed, so that the request is not sent again.
    func noteFailedAuthentication()
    /// Notes that the request waits for a refresh.
    /// - Parameter startsRefresh: True if the request has started the refresh.
    func beginWaitForRefresh(startsRefresh: Bool)
    /// Notes that the wait has ended.
    func endWaitForRefresh()
    /// Registers a refresh with the manager, whose reset and shutdown end it.
    /// - Returns: The closure that removes it; `nil` if the refresh must not run.
    func register(_ refresh: RunningRefresh) -> RunningRefresh.Unregister?
}
