import Dispatch
import Foundation

/// One call of an async handler, for which a connection's thread waits.
final class HandlerCall: @unchecked Sendable {
    // `lock` guards `outcome` and `wakeUp`.
    private let lock = NSLock()
    private var outcome: Reply?
    private var wakeUp: WakePipe?
    private let done = DispatchSemaphore(value: 0)

    /// Runs a handler.
    /// - Parameters:
    ///   - handler: The handler. It runs as a task.
    ///   - request: The request to handle.
    ///   - wait: Blocks until the pipe is woken. It calls its second argument when the peer ends its sending, which looks the same as a
    ///     client that has gone. It throws when the connection has ended.
    /// - Returns: The handler's reply, or a 500 with the text of the handler's error.
    /// - Throws: The error of `wait`. The handler's task is canceled then, and its reply is dropped.
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
        // Most handlers respond immediately. Only for a slower handler does the thread also watch the socket, which takes two descriptors.
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
