import NessLock
import NessPromise

/// A refresh of a credential, which requests wait for. Code that the refresh runs belongs to it, and must not wait for it.
///
/// A refresh that has started continues without waiters: a server may replace a token only once, and the next request finds the new one. It
/// ends with its closure, its timeout, a new credential, a reset or a shutdown. A refresh whose waiters were all dropped before it
/// started never runs.
final class RunningRefresh: ScopeMember {
    /// The refresh was abandoned: all its waiters were dropped before it started, a new credential was set, or its manager was
    /// reset or shut down.
    struct Abandoned: Error {}

    /// The refresh took longer than its timeout.
    struct TimedOut: Error {}

    /// Removes the refresh from its manager's registry.
    typealias Unregister = @Sendable () -> Void

    private enum Phase: Sendable {
        /// No code of the application has run.
        case new
        case started
        case ended(Result<Void, any Error>)
    }

    private struct State: Sendable {
        var phase = Phase.new
        var waiters = WaiterQueue<Waiter>()
        var task: Task<Void, Never>?
        /// `nil` outside of a manager, before the start, and once the refresh has ended.
        var unregister: Unregister?
        /// The refreshes for which requests of this refresh wait. One that several requests wait for occurs several times.
        var awaited: [RunningRefresh] = []

        var outcome: Result<Void, any Error>? { if case .ended(let outcome) = phase { outcome } else { nil } }
    }

    private let authentication: ObjectIdentifier
    private let state = Lock(State())

    init(of authentication: AnyObject) { self.authentication = ObjectIdentifier(authentication) }

    /// True until the refresh has ended.
    var isLive: Bool { state.withLock { $0.outcome == nil } }

    /// The number of requests that wait for the refresh.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// The refreshes that the calling code belongs to, outermost first.
    static var surrounding: [RunningRefresh] { HandlerScope.surrounding(RunningRefresh.self) }

    /// Returns true if the calling code belongs to a refresh of the authentication.
    static func surrounds(_ authentication: AnyObject) -> Bool {
        surrounding.contains { $0.authentication == ObjectIdentifier(authentication) }
    }

    // MARK: the run

    /// Starts a task that runs the refresh.
    /// - Parameters:
    ///   - register: Registers the refresh with the manager: see `AuthenticatedAttempt.register(_:)`. `nil` outside of a manager.
    ///   - operation: Gets and sets the credential. Canceled when the refresh ends in another way.
    func start(registeredBy register: ((RunningRefresh) -> Unregister?)?, _ operation: @escaping @Sendable () async throws -> Void) {
        let unregister = register?(self)
        guard unregister != nil || register == nil else { return end(with: .failure(Abandoned())) }
        // The lock is held so that `markStarted` and `end` cannot run before `task` is set.
        let isNew: Bool = state.withLock { state in
            guard case .new = state.phase else { return false }
            state.unregister = unregister
            state.task = Task { [self] in
                guard markStarted() else { return }
                do {
                    try await HandlerScope.with(self, operation)
                    end(with: .success(()))
                } catch {
                    end(with: .failure(error))
                }
            }
            return true
        }
        // The refresh has ended before it was registered, or since.
        if !isNew { unregister?() }
    }

    /// Marks the refresh as started. Returns false if it has ended before.
    private func markStarted() -> Bool {
        state.withLock { state in
            guard case .new = state.phase else { return false }
            state.phase = .started
            return true
        }
    }

    /// Ends the refresh. Only the first end counts.
    func end(with outcome: Result<Void, any Error>) { end(with: outcome) { _ in true } }

    private func end(with outcome: Result<Void, any Error>, if condition: (State) -> Bool) {
        let (waiters, task, unregister): ([Waiter], Task<Void, Never>?, Unregister?) = state.withLock { state in
            guard state.outcome == nil, condition(state) else { return ([], nil, nil) }
            state.phase = .ended(outcome)
            return (state.waiters.takeAll(), state.task.take(), state.unregister.take())
        }
        task?.cancel()
        unregister?()
        for waiter in waiters { waiter.resume(outcome) }
    }

    // MARK: the waiters

    /// Waits for the end of the refresh.
    /// - Parameter waiting: Counts the wait; `nil` outside of a manager.
    /// - Returns: False if the wait could never end, because the refresh waits for another refresh to which the calling code belongs.
    /// - Throws: The refresh's error.
    func wait(countedBy waiting: WaitingRequests?) async throws -> Bool {
        let surrounding = Self.surrounding
        for other in surrounding { other.state.withLock { $0.awaited.append(self) } }
        defer {
            for other in surrounding {
                other.state.withLock { state in
                    if let index = state.awaited.firstIndex(where: { $0 === self }) { state.awaited.remove(at: index) }
                }
            }
        }
        // Registered before the check: if two refreshes start to wait for each other at the same time, at least one of them sees the
        // other's entry.
        if surrounding.contains(where: { waits(for: $0) }) { return false }
        let waiter = join()
        if let waiting {
            try await waiting.during(.refresh) { try await waiter.wait() }
        } else {
            try await waiter.wait()
        }
        return true
    }

    private func join() -> Waiter {
        let (waiter, outcome): (Waiter, Result<Void, any Error>?) = state.withLock { state in
            if let outcome = state.outcome { return (Waiter(), outcome) }
            return (state.waiters.join { id in Waiter { [self] in leave(id) } }, nil)
        }
        if let outcome { waiter.resume(outcome) }
        return waiter
    }

    /// Removes a waiter that was canceled. A refresh that has not started ends with its last waiter.
    private func leave(_ id: WaiterQueue<Waiter>.ID) {
        state.withLock { _ = $0.waiters.leave(id) }
        end(with: .failure(Abandoned())) { state in
            if case .new = state.phase { state.waiters.isEmpty } else { false }
        }
    }

    /// Returns true if this refresh cannot end before another one, for which its requests wait, directly or through other refreshes.
    private func waits(for other: RunningRefresh) -> Bool {
        var stack: [RunningRefresh] = [self]
        var seen: Set<ObjectIdentifier> = []
        while let refresh = stack.popLast() {
            if refresh === other { return true }
            guard seen.insert(ObjectIdentifier(refresh)).inserted else { continue }
            stack += refresh.state.withLock { $0.awaited }
        }
        return false
    }
}
