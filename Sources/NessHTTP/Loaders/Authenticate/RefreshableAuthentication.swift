/// A credential that can be renewed when the server no longer takes it, such as an access token.
///
/// However many requests meet 401 together, there is one refresh; the others wait for it, and each goes again once. A request that was
/// sent with an older credential than the present one is sent again without a refresh. A refresh that fails fails everyone who waited, with
/// its error; the next 401 may try anew. A second 401 after a refresh stands. Requests that the refresh itself makes are never
/// authenticated by it. Dropping one who waits does not end the refresh; dropping all does.
public final class RefreshableAuthentication<Credential: Sendable>: Authentication {
    private struct State: Sendable {
        var credential: Credential
        var generation = 0
        var refresh: Promise<Void>?
    }

    private let state: Lock<State>
    /// Whether a 403 has the credential renewed, too.
    public let answersForbidden: Bool
    private let apply: @Sendable (Credential) -> HTTPHeaders
    private let refresh: @Sendable (Credential, HTTPResponse) async throws -> Credential

    /// Makes an authentication.
    /// - Parameters:
    ///   - credential: The first credential.
    ///   - answersForbidden: Whether a 403 has it renewed, too.
    ///   - apply: Makes the header fields of a credential. Runs off the main thread, for each attempt.
    ///   - refresh: Gets a new credential, given the one that was refused and the response that refused it. Runs off the main thread; never
    ///     twice at a time.
    public init(
        credential: Credential, answersForbidden: Bool = false, apply: @escaping @Sendable (Credential) -> HTTPHeaders,
        refresh: @escaping @Sendable (_ stale: Credential, _ response: HTTPResponse) async throws -> Credential
    ) {
        state = Lock(State(credential: credential))
        self.answersForbidden = answersForbidden
        self.apply = apply
        self.refresh = refresh
    }

    /// The present credential. Setting it, after a login say, makes requests that are refused with an older one go again.
    public var credential: Credential {
        get { state.withLock { $0.credential } }
        set {
            state.withLock { state in
                state.credential = newValue
                state.generation += 1
            }
        }
    }

    /// How many requests wait for the refresh that runs.
    package var waiterCount: Int { state.withLock { $0.refresh }?.waiterCount ?? 0 }

    /// Adds the credential's header fields.
    public func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest {
        if RefreshScope.current.contains(ObjectIdentifier(self)) { return request }
        let (credential, generation) = state.withLock { ($0.credential, $0.generation) }
        var request = request
        request.headers.merge(apply(credential))
        request[CredentialGeneration.self] = generation
        return request
    }

    /// Waits for a newer credential than the one that was refused.
    public func renew(after response: HTTPResponse) async throws -> Bool {
        guard let generation = response.request[CredentialGeneration.self], !RefreshScope.current.contains(ObjectIdentifier(self)) else {
            return false
        }
        while true {
            let (refresh, stale): (Promise<Void>?, (Credential, Int)?) = state.withLock { state in
                if state.generation > generation { return (nil, nil) }
                if let running = state.refresh, !running.isCompleted { return (running, nil) }
                let promise = Promise<Void>(makeDropError: { RefreshAbandoned() })
                state.refresh = promise
                return (promise, (state.credential, state.generation))
            }
            guard let refresh else { return true }
            if let (credential, generation) = stale { start(refresh, replacing: credential, generation, after: response) }
            do {
                // The refresh is shared: a drop here leaves it to the others, or ends it if there are none.
                try await refresh.value
                return true
            } catch is RefreshAbandoned {
                // Everyone who waited went away just when we came; unless it is we who went.
                try Task.checkCancellation()
            }
        }
    }

    private func start(_ promise: Promise<Void>, replacing stale: Credential, _ generation: Int, after response: HTTPResponse) {
        promise.start { [self] in
            let scope = RefreshScope.current.union([ObjectIdentifier(self)])
            let fresh = try await RefreshScope.$current.withValue(scope) { try await refresh(stale, response) }
            try Task.checkCancellation()
            state.withLock { state in
                // A credential that was set meanwhile, by a login say, is newer.
                guard state.generation == generation else { return }
                state.credential = fresh
                state.generation += 1
            }
        }
    }
}

/// The refresh that this one waited for was given up by everyone else.
private struct RefreshAbandoned: Error {}

/// Whose refresh the present task belongs to: its requests must not wait for themselves.
enum RefreshScope {
    @TaskLocal static var current: Set<ObjectIdentifier> = []
}

/// The number of the credential that a request carries, counted by the `Authentication` that gave it.
enum CredentialGeneration: RequestOptionKey {
    static let defaultValue: Int? = nil
}
