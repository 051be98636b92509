import Dispatch
import Foundation

/// One run of an async handler, and the thread that waits for it.
final class HandlerCall: @unchecked Sendable {
    // `lock` guards `outcome` and `wakeUp`.
    private let lock = NSLock()
    private var outcome: Reply?
    private var wakeUp: WakePipe?
    private let done = DispatchSemaphore(value: 0)

    /// Runs a handler.
    /// - Parameters:
    ///   - handler: What to run, as a task.
    ///   - request: What to answer.
    ///   - wait: Blocks until the pipe is woken, and calls its second argument when the peer sends no more, which a client that is
    ///     gone can't be told from; throws when the connection has ended.
    /// - Returns: The handler's reply, or a 500 with the text of what it threw.
    /// - Throws: What `wait` throws; the task has been cancelled then, and goes on unheard.
    static func run(
        _ handler: @escaping TestServer.Handler, _ request: ReceivedRequest, wait: (WakePipe, @escaping () -> Void) throws -> Void
    ) throws -> Reply {
        let call = HandlerCall()
        let task = Task {
            do {
                call.finish(try await handler(request))
            } catch {
                call.finish(.text("The handler threw: \(error)", status: 500))
            }
        }
        do {
            return try call.result { try wait($0) { task.cancel() } }
        } catch {
            task.cancel()
            throw error
        }
    }

    private func finish(_ reply: Reply) {
        let pipe = lock.withLock {
            outcome = reply
            return wakeUp
        }
        pipe?.wake()
        done.signal()
    }

    private func result(wait: (WakePipe) throws -> Void) throws -> Reply {
        // Most handlers answer at once. Only for those that don't is the socket watched too, which takes two descriptors.
        if done.wait(timeout: .now() + .milliseconds(10)) == .success, let reply = lock.withLock({ outcome }) { return reply }
        guard let pipe = try? WakePipe() else { throw ConnectionEnd.gone }
        defer { pipe.close() }
        if let reply = lock.withLock({
            wakeUp = pipe
            return outcome
        }) {
            return reply
        }
        try wait(pipe)
        guard let reply = lock.withLock({ outcome }) else { throw ConnectionEnd.gone }
        return reply
    }
}
