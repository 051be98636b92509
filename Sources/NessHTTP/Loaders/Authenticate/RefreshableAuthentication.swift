/// A credential that can be renewed when the server no longer takes it, such as an access token.
///
/// However many requests meet 401 together, there is one refresh; the others wait for it, and each goes again once. A request that was
/// sent with an older credential than the present one is sent again without a refresh. A refresh that fails fails everyone who waited, with
/// its error; the next 401 may try anew. A second 401 after a refresh stands. Dropping one who waits does not end the refresh; dropping all
/// does.
///
/// The requests that a refresh makes are never authenticated by it, so that it does not wait for itself. A request belongs to the refresh if
/// it is made in the refresh's task, in a `Task { }` that was made there, or in a handler that was added there to a promise, whatever its
/// queue. Code in a detached task, or in a closure that was given to a `DispatchQueue`, is not recognized: its requests say
/// `withoutAuthentication()`. One that does not, and that the refresh waits for, fails with all others when the refresh has taken `timeout`.
public final class RefreshableAuthentication<Credential: Sendable>: Authentication {
    private struct State: Sendable {
        var credential: Credential
        var generation = 0
        var refresh: RunningRefresh?
    }

    private let state: Lock<State>
    /// Whether a 403 has the credential renewed, too.
    public let answersForbidden: Bool
    private let timeout: Duration?
    private let clock: Timekeeper
    private let apply: @Sendable (Credential) -> HTTPHeaders
    private let refresh: @Sendable (Credential, HTTPResponse) async throws -> Credential

    /// Makes an authentication.
    /// - Parameters:
    ///   - credential: The first credential.
    ///   - answersForbidden: Whether a 403 has it renewed, too.
    ///   - timeout: The longest that a refresh may take. Then it is cancelled, and those who wait for it fail with `NessError.timedOut`. nil for
    ///     a refresh that may take any time, such as one that asks the user.
    ///   - clock: The clock that measures `timeout`.
    ///   - apply: Makes the header fields of a credential. Runs off the main thread, for each attempt.
    ///   - refresh: Gets a new credential, given the one that was refused and the response that refused it. Runs off the main thread; never
    ///     twice at a time, unless it goes on after it was cancelled.
    public init(
        credential: Credential, answersForbidden: Bool = false, timeout: Duration? = .seconds(300),
        clock: any Clock<Duration> = ContinuousClock(), apply: @escaping @Sendable (Credential) -> HTTPHeaders,
        refresh: @escaping @Sendable (_ stale: Credential, _ response: HTTPResponse) async throws -> Credential
    ) {
        state = Lock(State(credential: credential))
        self.answersForbidden = answersForbidden
        self.timeout = timeout
        self.clock = Timekeeper(clock)
        self.apply = apply
        self.refresh = refresh
    }

    /// The present credential. Setting it, after a login say, makes requests that are refused with an older one go again, also those that wait
    /// for a refresh: that refresh is cancelled, unless it sets the credential itself.
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

    /// How many requests wait for the refresh that runs.
    package var waiterCount: Int { state.withLock { $0.refresh }?.end.waiterCount ?? 0 }

    /// Adds the credential's header fields.
    public func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest {
        if RunningRefresh.surrounds(self) { return request }
        let (credential, generation) = state.withLock { ($0.credential, $0.generation) }
        var request = request
        request.headers.merge(apply(credential))
        request[CredentialGeneration.self] = generation
        return request
    }

    /// Waits for a newer credential than the one that was refused.
    /// - Throws: The error of the refresh; `NessError.timedOut` if it took too long; `NessError.validation` with the response if the wait could
    ///   never end, because the refresh of another authentication waits for this one and makes this request.
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
                // The refresh is shared: a drop here leaves it to the others, or ends it if there are none.
                if try await refresh.wait() { return true }
                throw NessError.validation(
                    NessError.Context(
                        request: response.request, response: response, reason: "the refresh of the credential waits for this request"))
            } catch is RunningRefresh.Abandoned {
                // Everyone who waited went away just when we came, or there is a new credential; unless it is we who went.
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
                // A credential that was set meanwhile, by a login say, is newer.
                guard state.generation == generation else { return }
                state.credential = fresh
                state.generation += 1
            }
        } settled: { _ in
            stopTimer?()
        }
    }
}

/// The number of the credential that a request carries, counted by the `Authentication` that gave it.
enum CredentialGeneration: RequestOptionKey {
    static let defaultValue: Int? = nil
}
