import Dispatch
import Foundation
import NessHTTP
import NessLock

/// An upload or a download that shows its progress, and that Ctrl-C interrupts.
enum Transfer {
    /// Waits for the end of a transfer.
    /// - Parameter continues: True if the same command continues it.
    static func finish<Value: Sendable>(_ transfer: PausablePromise<Value>, of ness: Ness, continues: Bool = true) async throws -> Value {
        let wasInterrupted = Lock(false)
        let interrupts = pauseOnInterrupt(transfer, ness, continues) { wasInterrupted.withLock { $0 = true } }
        defer { interrupts.cancel() }

        let line = ProgressLine()
        let shows = Task { for await progress in transfer.progressUpdates { line.show(progress) } }
        let result = await transfer.settled
        await shows.value
        line.end()
        // The program is about to end, with its own message.
        if wasInterrupted.withLock({ $0 }) { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
        return try result.get()
    }

    /// Ctrl-C closes the connection, keeps what was transferred and ends the program.
    private static func pauseOnInterrupt<Value: Sendable>(
        _ transfer: PausablePromise<Value>, _ ness: Ness, _ continues: Bool, _ interrupted: @escaping @Sendable () -> Void
    ) -> any DispatchSourceSignal {
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        source.setEventHandler {
            interrupted()
            transfer.pause()
            Task {
                // Returns when the received bytes are on the disk.
                await ness.reset()
                let text = continues ? "paused; run the same command to continue\n" : "canceled; without --record the upload starts over\n"
                FileHandle.standardError.write(Data(text.utf8))
                exit(ExitCode.interrupted)
            }
        }
        source.resume()
        return source
    }
}
