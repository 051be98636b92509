import NessLock

/// A credential, such as an access token, that can be renewed when the server rejects it.
///
/// If several requests get a 401 at the same time, one refresh runs. The requests wait for it, and each is sent once more. A request that
/// was sent with an older credential than the current one is sent again without a refresh.
///
/// If a refresh fails, all requests that wait for it fail with its error, and the next 401 starts a new refresh. A second 401 after a
/// refresh is final.
///
/// A refresh that has started continues if the requests that wait for it are dropped or reach their deadlines: the next request finds the
/// new credential. It ends with its `timeout`, when `credential` is set, and when its manager is reset or shut down.
///
/// The refresh has the task-local values of the caller whose request started it.
///
/// With `isStale` a credential is also renewed ahead of time: a request with a stale credential is not sent, but waits for the same
/// single refresh, and is then sent with the new credential.
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
        /// True if the credential comes from a refresh that has not failed. A request that waited for it is sent, even if `isStale` is
        /// true: a server whose new credentials are stale from the start must not keep requests from being sent.
        var isRefreshed = false
        var refresh: RunningRefresh?

        mutating func set(_ new: Credential, isRefreshed: Bool) {
            credential = new
            generation += 1
            self.isRefreshed = isRefreshed
        }
    }

    private let state: Lock<State>
    /// A Boolean value that indicates whether a 403 starts a refresh, in addition to a 401.
    public let refreshesOnForbidden: Bool
    private let timeout: Duration?
    /// The clock of `timeout`; `nil` for the manager's.
    private let clock: PipelineClock?
    private let apply: @Sendable (Credential) -> HTTPHeaders
    private let identify: @Sendable (Credential) -> String?
    private let isStale: @Sendable (Credential) -> Bool
    private let refresh: @Sendable (Credential, Occasion) async throws -> Credential

    /// The occasion of a refresh.
    struct Occasion: Sendable {
        /// The request that waits for the refresh and caused it.
        let request: HTTPRequest
        /// The response that rejected the credential; `nil` if the credential was stale before the request was sent.
        let response: HTTPResponse?
        /// The manager that sends the request, retained until the refresh has ended; `nil` outside of a manager.
        let manager: (any AnyObject & Sendable)?
    }

    /// Makes an authentication that renews its credential when the server rejects it.
    /// - Parameters:
    ///   - credential: The first credential.
    ///   - userIdentifier: Returns a stable name of a credential's user: see `Authentication.userIdentifier`. Runs off the main thread,
    ///     often several times for a request. By default there is no name.
    ///   - refreshesOnForbidden: True if a 403 starts a refresh, in addition to a 401.
    ///   - timeout: The longest time that a refresh may take. After that the refresh is canceled, and the requests that wait for it fail
    ///     with `NessError.Kind.timedOut`. `nil` for no limit, for example if the refresh asks the user.
    ///   - clock: The clock that measures `timeout`; `nil` for that of the manager whose request starts the refresh.
    ///   - apply: Makes the header fields of a credential. Runs off the main thread, each time that a request is sent.
    ///   - refresh: Gets a new credential, given the rejected one and the response that rejected it. Runs off the main thread. Two
    ///     refreshes never run at the same time, unless the closure continues after its cancellation.
    public convenience init(
        credential: Credential, userIdentifier: @escaping @Sendable (Credential) -> String? = { _ in nil },
        refreshesOnForbidden: Bool = false, timeout: Duration? = .seconds(300),
        clock: (any Clock<Duration>)? = nil, apply: @escaping @Sendable (Credential) -> HTTPHeaders,
        refresh: @escaping @Sendable (_ stale: Credential, _ response: HTTPResponse) async throws -> Credential
    ) {
        self.init(
            credential: credential, userIdentifier: userIdentifier, isStale: { _ in false }, refreshesOnForbidden: refreshesOnForbidden,
            timeout: timeout, clock: clock, apply: apply
        ) { stale, occasion in
            // No credential is stale, so every refresh has a response.
            try await refresh(stale, occasion.response ?? HTTPResponse(statusCode: 401, request: occasion.request))
        }
    }

    /// Makes an authentication whose refresh gets the manager: see the public initializer with `renew`, beside `Ness`.
    init(
        credential: Credential, userIdentifier: @escaping @Sendable (Credential) -> String?,
        isStale: @escaping @Sendable (Credential) -> Bool, refreshesOnForbidden: Bool, timeout: Duration?, clock: (any Clock<Duration>)?,
        apply: @escaping @Sendable (Credential) -> HTTPHeaders,
        renew: @escaping @Sendable (Credential, Occasion) async throws -> Credential
    ) {
        state = Lock(State(credential: credential))
        self.refreshesOnForbidden = refreshesOnForbidden
        self.timeout = timeout
        self.clock = clock.map { PipelineClock($0) }
        self.apply = apply
        identify = userIdentifier
        self.isStale = isStale
        refresh = renew
    }

    /// The current credential. After you set it, for example at a login, Ness resends requests that the server rejected with an older one,
    /// and requests that wait for a refresh. The refresh is canceled, unless the refresh itself sets the credential.
    public var credential: Credential {
        get { state.withLock { $0.credential } }
        set {
            let isInsideRefresh = RunningRefresh.surrounds(self)
            // The old credential is released outside the lock.
            let (_, outdated) = state.withLock { state in
                defer { state.set(newValue, isRefreshed: isInsideRefresh) }
                return (state.credential, state.refresh)
            }
            guard let outdated, !isInsideRefresh else { return }
            outdated.end(with: .failure(RunningRefresh.Abandoned()))
        }
    }

    /// The stable name of the current credential's user.
    public var userIdentifier: String? { identify(credential) }

    /// The number of requests that wait for the running refresh. Zero if no refresh runs.
    package var waiterCount: Int { state.withLock { $0.refresh }?.waiterCount ?? 0 }

    /// Adds the header fields of the current credential. Adds nothing to a request that the refresh itself makes. If the credential is
    /// stale, waits for a newer one first.
    /// - Throws: The error of the refresh; `NessError.Kind.timedOut` if the refresh took too long; `NessError.Kind.invalidRequest` if the
    ///   wait could never end, because the refresh of another authentication waits for this one and makes this request.
    public func authenticate(_ request: HTTPRequest, in context: AuthenticationContext) async throws -> HTTPRequest {
        if RunningRefresh.surrounds(self) { return request }
        var current = state.withLock { $0 }
        var hasWaited = context.isRenewed
        while !(hasWaited && current.isRefreshed), isStale(current.credential) {
            do {
                try await waitForCredential(newerThan: current.generation, for: request, in: context)
            } catch {
                context.attempt?.noteFailedAuthentication()
                throw error
            }
            hasWaited = true
            current = state.withLock { $0 }
        }
        var request = request
        let fields = apply(current.credential)
        request.headers.merge(fields)
        request[CredentialGeneration.self] = current.generation
        // The name comes from this very credential, because the current user may change at any moment.
        request[AuthenticatedUser.self] = identify(current.credential).map { AuthenticatedUser(name: $0, fields: fields.fields) }
        return request
    }

    /// Waits for a newer credential than the one that the server rejected.
    /// - Throws: The error of the refresh; `NessError.Kind.timedOut` if the refresh took too long; `NessError.Kind.validation` with the
    ///   response if the wait could never end, because the refresh of another authentication waits for this one and makes this request.
    public func renew(after response: HTTPResponse, in context: AuthenticationContext) async throws -> Bool {
        guard let generation = response.request[CredentialGeneration.self], !RunningRefresh.surrounds(self) else { return false }
        try await waitForCredential(newerThan: generation, for: response.request, after: response, in: context)
        return true
    }

    /// Waits for a credential of a later generation. Starts a refresh, unless one runs.
    private func waitForCredential(
        newerThan generation: Int, for request: HTTPRequest, after response: HTTPResponse? = nil, in context: AuthenticationContext
    ) async throws {
        let occasion = Occasion(request: request, response: response, manager: context.step?.manager())
        while true {
            // A request that was dropped must not start a refresh, even if a loader has ignored the drop. Nor may one from before a reset:
            // the manager would end its refresh again and again.
            try Task.checkCancellation()
            if let attempt = context.attempt, attempt.hasEnded || attempt.isRefused { throw CancellationError() }
            let (refresh, stale): (RunningRefresh?, (Credential, Int)?) = state.withLock { state in
                // A refresh that has set a credential may still fail.
                if let running = state.refresh, running.isLive { return (running, nil) }
                if state.generation > generation { return (nil, nil) }
                let refresh = RunningRefresh(of: self)
                state.refresh = refresh
                return (refresh, (state.credential, state.generation))
            }
            guard let refresh else { return }
            context.attempt?.beginWaitForRefresh(startsRefresh: stale != nil)
            defer { context.attempt?.endWaitForRefresh() }
            if let (credential, generation) = stale { start(refresh, replacing: credential, generation, occasion, in: context) }
            do {
                if try await refresh.wait(countedBy: context.step?.waiting) { return }
                let reason = "the refresh of the credential waits for this request"
                let context = NessError.Context(request: request, response: response, reason: reason)
                throw NessError(response == nil ? .invalidRequest : .validation, context)
            } catch is RunningRefresh.Abandoned {
                // All waiters of the refresh were dropped just before this one joined, a new credential was set, or another manager was
                // reset.
                continue
            } catch is RunningRefresh.TimedOut {
                let reason = "the refresh of the credential took longer than \((timeout ?? .zero).seconds) s"
                throw NessError(.timedOut, NessError.Context(request: request, response: response, reason: reason))
            }
        }
    }

    private func start(
        _ running: RunningRefresh, replacing stale: Credential, _ generation: Int, _ occasion: Occasion, in context: AuthenticationContext
    ) {
        let clock = clock ?? context.step?.clock ?? .realTime
        running.start(registeredBy: context.attempt?.register) { [self] in
            let stopTimer = timeout.map { timeout in
                clock.startTimer(after: timeout) { running.end(with: .failure(RunningRefresh.TimedOut())) }
            }
            defer { stopTimer?() }
            do {
                let fresh = try await refresh(stale, occasion)
                try Task.checkCancellation()
                state.withLock { state in
                    // A credential that was set during the refresh, for example by a login, is newer.
                    if state.generation == generation { state.set(fresh, isRefreshed: true) }
                }
            } catch {
                state.withLock { if $0.refresh === running { $0.isRefreshed = false } }
                throw error
            }
        }
    }
}

/// The number of the credential that a request carries. The `Authentication` that added the credential counts them.
enum CredentialGeneration: RequestOptionKey {
    static let defaultValue: Int? = nil
    /// False, because the fields of the credential distinguish requests.
    static let distinguishesRequests = false
}

extension RefreshableAuthentication: SecretAuthentication {}
