#if os(Linux)
import CNessCurl
import Foundation
import NessLock
import NessPromise

/// A thread that drives libcurl for a transport. It starts with its first exchange and ends with the transport.
final class CurlEngine: Sendable {
    /// A command for the thread.
    enum Command: Sendable {
        case start(CurlExchange)
        /// Resumes an exchange whose mailbox was full, or whose body has more bytes to send.
        case resume(CurlExchange)
        case cancel(CurlExchange)
        /// Continues an exchange with the addresses of a name.
        case found(CurlExchange, CurlNames.Name, Result<[String], NameResolver.Failure>)
    }

    private struct State: Sendable {
        var commands: [Command] = []
        var hasThread = false
        /// True while the thread sleeps, or is about to. Otherwise the thread finds new commands without being woken.
        var isSleeping = false
        var isStopping = false
        /// `nil` once the handle is about to be released for good.
        var multi: CurlMultiHandle?
    }

    private let state: Lock<State>
    /// Settles once the engine has been stopped and has closed every connection.
    private let closed = Promise<Void>()
    /// The descriptor that wakes the thread. It stays the same when the handle is replaced.
    private let waker: Int32
    /// The transport's options.
    let settings: CurlSettings
    /// The time without exchanges after which the engine closes its connections.
    let idleLimit: Duration
    /// Called once for each exchange that `start` was called with, when the exchange no longer uses a connection.
    let didRelease: @Sendable (CurlExchange) -> Void

    /// Makes an engine. Fails if the system has no memory or no descriptors for one.
    init?(
        _ settings: CurlSettings, idleLimit: Duration = defaultIdleLimit,
        didRelease: @escaping @Sendable (CurlExchange) -> Void = { _ in }
    ) {
        waker = ness_curl_waker_make()
        guard waker >= 0, let multi = CurlMultiHandle(wokenBy: waker) else {
            if waker >= 0 { ness_curl_waker_close(waker) }
            return nil
        }
        state = Lock(State(multi: multi))
        self.settings = settings
        self.idleLimit = idleLimit
        self.didRelease = didRelease
    }

    deinit { ness_curl_waker_close(waker) }

    /// Two minutes: libcurl does not reuse a connection that was idle for longer than 118 seconds.
    static let defaultIdleLimit = Duration.seconds(120)

    /// Passes an exchange to the thread, which is started for the first exchange. Safe from any thread.
    /// - Throws: `TransportError` if the engine has been stopped, or if the system has no thread left.
    func start(_ exchange: CurlExchange) throws {
        do {
            let isAsleep = try state.withLock { state in
                guard !state.isStopping, let multi = state.multi else { throw TransportError.afterShutdown }
                if !state.hasThread {
                    let code = NativeThread.start { [self] in
                        Thread.current.name = "ness.curl"
                        ness_curl_block_broken_pipes()
                        CurlLoop(self, multi).run()
                    }
                    guard code == 0 else { throw TransportError(.cannotConnect, "the system has no thread left (errno \(code))") }
                    state.hasThread = true
                }
                return add(.start(exchange), to: &state)
            }
            if isAsleep { ness_curl_wake(waker) }
        } catch {
            didRelease(exchange)
            throw error
        }
    }

    /// Passes a command to the thread. Does nothing if its exchange was not started, or has ended. Safe from any thread.
    func post(_ command: Command) {
        let isAsleep = state.withLock { state in
            guard state.hasThread, !state.isStopping else { return false }
            return add(command, to: &state)
        }
        if isAsleep { ness_curl_wake(waker) }
    }

    /// Adds a command. Returns true if the caller has to wake the thread, after it has released the lock.
    private func add(_ command: Command, to state: inout State) -> Bool {
        state.commands.append(command)
        defer { state.isSleeping = false }
        return state.isSleeping
    }

    /// Ends the thread. Exchanges in flight end with `CancellationError`.
    func stop() {
        let isUnused = state.withLock { state in
            guard !state.isStopping else { return false }
            state.isStopping = true
            state.isSleeping = false
            return !state.hasThread
        }
        ness_curl_wake(waker)
        if isUnused { close() }
    }

    /// Takes the pending commands. Called by the thread.
    /// - Parameter commands: An empty array, which receives the commands. Its memory is used for the next ones.
    /// - Returns: True if the engine has been stopped.
    func takeCommands(_ commands: inout [Command]) -> Bool {
        state.withLock { state in
            swap(&state.commands, &commands)
            state.isSleeping = false
            return state.isStopping
        }
    }

    /// Announces that the thread is about to sleep. Returns false if there is a command to perform, or if the engine has been stopped.
    func mayBeginSleep() -> Bool {
        state.withLock { state in
            state.isSleeping = state.commands.isEmpty && !state.isStopping
            return state.isSleeping
        }
    }

    /// Replaces the handle, and so closes all connections. Called by the thread while it has no transfer.
    /// - Returns: The new handle. `nil` if there is a command to perform, or if the system has no memory or no descriptors.
    func renewHandle() -> CurlMultiHandle? {
        guard let new = CurlMultiHandle(wokenBy: waker) else { return nil }
        let old = state.withLock { state -> CurlMultiHandle? in
            guard state.commands.isEmpty, !state.isStopping else { return nil }
            defer { state.multi = new }
            return state.multi
        }
        (old ?? new).release()
        return old == nil ? nil : new
    }

    /// Closes the engine for good. Called by the thread at its end, or for an engine without a thread.
    func close() {
        let multi = state.withLock { $0.multi.take() }
        multi?.release()
        closed.settle(.success(()))
    }

    /// Waits until the thread has closed every connection. Call this after `stop()`.
    func waitUntilClosed() async {
        // In a separate task, because canceling this one does not end the wait.
        _ = await Task { [closed] in await closed.untilSettled() }.value
    }
}
#endif
