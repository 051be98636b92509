/// A credential, such as an access token, that can be renewed when the server refuses it.
///
/// If several requests meet 401 at the same time, one refresh runs. The requests wait for it, and each is sent once more. A request that
/// was sent with an older credential than the present one is sent again without a refresh.
///
/// If a refresh fails, all requests that wait for it fail with its error, and the next 401 starts a new refresh. A second 401 after a
/// refresh is final. Dropping one waiting request does not end the refresh; dropping all of them does.
///
/// The requests that a refresh makes are not authenticated by this object: the refresh would wait for itself. A request belongs to the
/// refresh in any of these cases:
/// - The refresh's own task makes the request.
/// - A `Task { }` that was created in the refresh's task makes it.
/// - A handler that the refresh added to a promise makes it, on any queue.
///
/// Requests from a detached task or from a closure on a `DispatchQueue` are not recognized. Mark them with `withoutAuthentication()`. If
/// the refresh waits for such a request without the mark, all waiting requests fail after `timeout`.
public final class RefreshableAuthentication<Credential: Sendable>: Authentication {
    private struct State: Sendable {
        var credential: Credential
        var generation = 0
        var refresh: RunningRefresh?
    }

    private let state: Lock<State>
    /// A Boolean value that indicates whether a 403 starts a refresh, too.
    public let refreshesOnForbidden: Bool
    private let timeout: Duration?
    private let clock: PipelineClock
    private let apply: @Sendable (Credential) -> HTTPHeaders
    private let refresh: @Sendable (Credential, HTTPResponse) async throws -> Credential

    /// Makes an authentication.
    /// - Parameters:
    ///   - credential: The first credential.
    ///   - refreshesOnForbidden: True if a 403 starts a refresh, too.
    ///   - timeout: The longest time that a refresh may take. After that the refresh is cancelled, and the requests that wait for it fail
    ///     with `NessError.timedOut`. `nil` for no limit, for example if the refresh asks the user.
    ///   - clock: The clock that measures `timeout`.
    ///   - apply: Makes the header fields of a credential. Runs off the main thread, once for each attempt.
    ///   - refresh: Gets a new credential from the refused one and the response that refused it. Runs off the main thread. Two refreshes
    ///     never run at the same time, unless the closure continues after its cancellation.
    public init(
        credential: Credential, refreshesOnForbidden: Bool = false, timeout: Duration? = .seconds(300),
        clock: any Clock<Duration> = ContinuousClock(), apply: @escaping @Sendable (Credential) -> HTTPHeaders,
        refresh: @escaping @Sendable (_ stale: Credential, _ response: HTTPResponse) async throws -> Credential
    ) {
        state = Lock(State(credential: credential))
        self.refreshesOnForbidden = refreshesOnForbidden
        self.timeout = timeout
        self.clock = PipelineClock(clock)
        self.apply = apply
        self.refresh = refresh
    }

    /// The present credential. After you set it, for example at a login, requests that the server refused with an older one are sent again.
    /// Requests that wait for a refresh are sent again, too: the refresh is cancelled, unless the refresh itself sets the credential.
    public var credential: Credential {
        get { state.withLock { $0.credential } }
        set {
            let overtaken = state.withLock { state in
                state.credential = newValue
                state.generation += 1
                return state.refresh
            }
            guard let overtaken, !RunningRefresh.surrounds(self) else { return }
            overtaken.end.drop(becauseOf: RunningRefresh.Abandoned())
        }
    }

    /// The number of requests that wait for the running refresh. Zero if no refresh runs.
    package var waiterCount: Int {
        guard let refresh = state.withLock({ $0.refresh }), refresh.isLive else { return 0 }
        return refresh.end.waiterCount
    }

    /// Adds the header fields of the present credential. Adds nothing to a request that the refresh itself makes.
    public func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest {
        if RunningRefresh.surrounds(self) { return request }
        let (credential, generation) = state.withLock { ($0.credential, $0.generation) }
        var request = request
        request.headers.merge(apply(credential))
        request[CredentialGeneration.self] = generation
        return request
    }

    /// Waits for a newer credential than the one that the server refused.
    /// - Throws: The error of the refresh; `NessError.timedOut` if the refresh took too long; `NessError.validation` with the response if
    ///   the wait could never end, because the refresh of another authentication waits for this one and makes this request.
    public func renew(after response: HTTPResponse) async throws -> Bool {
        guard let generation = response.request[CredentialGeneration.self], !RunningRefresh.surrounds(self) else { return false }
        while true {
            let (refresh, stale): (RunningRefresh?, (Credential, Int)?) = state.withLock { state in
                if state.generation > generation { return (nil, nil) }
                if let running = state.refresh, running.isLive { return (running, nil) }
                let refresh = RunningRefresh(of: self)
                state.refresh = refresh
                return (refresh, (state.credential, state.generation))
            }
            guard let refresh else { return true }
            if let (credential, generation) = stale { start(refresh, replacing: credential, generation, after: response) }
            do {
                // The refresh is shared. If this waiter is dropped, the refresh continues for the others; it ends if there are none.
                if try await refresh.wait() { return true }
                throw NessError.validation(
                    NessError.Context(
                        request: response.request, response: response, reason: "the refresh of the credential waits for this request"))
            } catch is RunningRefresh.Abandoned {
                // The refresh ended because all its waiters were dropped just before this one joined, or because a new credential was set.
                // Try again, unless this task itself was cancelled.
                try Task.checkCancellation()
            } catch is RunningRefresh.TimedOut {
                throw NessError.timedOut(
                    NessError.Context(
                        request: response.request, response: response,
                        reason: "the refresh of the credential took longer than \((timeout ?? .zero).seconds) s"))
            }
        }
    }

    private func start(_ running: RunningRefresh, replacing stale: Credential, _ generation: Int, after response: HTTPResponse) {
        let stopTimer = timeout.map { timeout in
            clock.startTimer(after: timeout) { [weak running] in running?.end.drop(becauseOf: RunningRefresh.TimedOut()) }
        }
        running.end.start { [self] in
            let fresh = try await HandlerScope.with(running) { try await refresh(stale, response) }
            try Task.checkCancellation()
            state.withLock { state in
                // A credential that was set during the refresh, for example by a login, is newer.
                guard state.generation == generation else { return }
                state.credential = fresh
                state.generation += 1
            }
        } settled: { _ in
            stopTimer?()
        }
    }
}

/// The number of the credential that a request carries. The `Authentication` that added the credential counts them.
enum CredentialGeneration: RequestOptionKey {
    static let defaultValue: Int? = nil
}
