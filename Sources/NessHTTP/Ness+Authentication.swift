extension AuthenticationContext {
    /// The manager that sends the request. `nil` outside of a manager, and after the manager was released. Send a renewal's requests with
    /// `ness.withoutAuthentication()`: an authenticated request would wait for the renewal.
    public var ness: Ness? { step?.manager() as? Ness }
}

extension RefreshableAuthentication {
    /// Makes an authentication that renews its credential with requests of the manager, after the server has rejected it or ahead of time.
    ///
    /// ```swift
    /// let authentication = RefreshableAuthentication(
    ///     credential: token, isStale: { $0.expiry < .now }
    /// ) { token in
    ///     ["Authorization": "Bearer \(token.access)"]
    /// } renew: { stale, ness in
    ///     try await ness.post("token")
    ///         .set(form: ["refresh_token": stale.refresh])
    ///         .decoded(as: Token.self)
    /// }
    /// let ness = Ness {
    ///     $0.baseURL = URL(string: "https://api.example.com/v1/")
    ///     $0.authentication = authentication
    /// }
    /// ```
    ///
    /// While no user is logged in, the credential can be an empty one that is always stale: `renew` then asks the user. A login that sets
    /// `credential` meanwhile ends that refresh, and all waiting requests are sent with the new credential.
    /// - Parameters:
    ///   - credential: The first credential.
    ///   - userIdentifier: Returns a stable name of a credential's user: see `Authentication.userIdentifier`. Runs off the main thread,
    ///     often several times for a request. By default there is no name.
    ///   - isStale: Returns true for a credential that must be renewed before it is sent, for example because it is about to expire. Runs
    ///     off the main thread, once for each attempt of a request. A new credential that is already stale is sent as it is, even after
    ///     the server has rejected the one before. By default no credential is renewed ahead of time.
    ///   - refreshesOnForbidden: True if a 403 starts a refresh, in addition to a 401.
    ///   - timeout: The longest time that a refresh may take. After that the refresh is canceled, and the requests that wait for it fail
    ///     with `NessError.Kind.timedOut`. `nil` for no limit, for example if the refresh asks the user.
    ///   - clock: The clock that measures `timeout`; `nil` for the clock of the manager whose request starts the refresh.
    ///   - apply: Makes the header fields of a credential. Runs off the main thread, each time that a request is sent.
    ///   - renew: Obtains a new credential from the stale one. The manager is that of the first waiting request. Its requests carry no
    ///     credential: see `Ness.withoutAuthentication()`. Runs off the main thread. Two refreshes never run at the same time, unless the
    ///     closure continues after its cancellation.
    public convenience init(
        credential: Credential, userIdentifier: @escaping @Sendable (Credential) -> String? = { _ in nil },
        isStale: @escaping @Sendable (Credential) -> Bool = { _ in false }, refreshesOnForbidden: Bool = false,
        timeout: Duration? = .seconds(300), clock: (any Clock<Duration>)? = nil,
        apply: @escaping @Sendable (Credential) -> HTTPHeaders,
        renew: @escaping @Sendable (_ stale: Credential, _ ness: Ness) async throws -> Credential
    ) {
        self.init(
            credential: credential, userIdentifier: userIdentifier, isStale: isStale, refreshesOnForbidden: refreshesOnForbidden,
            timeout: timeout, clock: clock,
            apply: apply
        ) { stale, occasion in
            guard let ness = occasion.manager as? Ness else {
                let reason = "there is no manager to renew the credential with"
                throw NessError(.invalidRequest, NessError.Context(request: occasion.request, response: occasion.response, reason: reason))
            }
            return try await renew(stale, ness.withoutAuthentication())
        }
    }
}
