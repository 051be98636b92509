import Dispatch
import Foundation
import NessHTTP
import NessLock

/// `ness-demo download URL`: saves a file, shows how far it is, and can be interrupted at any moment: the same command then continues.
enum Download {
    static func run(_ url: String, headers: HTTPHeaders, file: String?, segments: Int) async throws {
        let ness = Ness.default
        let here = URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true)
        let request = ness.httpRequest(.get, withUrl: url).set(headers: headers).set(retry: .backoff(maxRetryCount: 5))
        let download =
            file.map {
                request.downloadRequest(forSavedLocation: URL(fileURLWithPath: $0, relativeTo: here), segments: segments)
            }
            ?? request.downloadRequest(intoFolder: here, segments: segments)
        let wasInterrupted = Lock(false)
        let interrupts = pauseOnInterrupt(download, ness) { wasInterrupted.withLock { $0 = true } }
        defer { interrupts.cancel() }

        let line = ProgressLine()
        let shows = Task { for await progress in download.progressUpdates { line.show(progress) } }
        let result = await download.settled
        await shows.value
        line.end()
        // The program is about to end, with its own message.
        if wasInterrupted.withLock({ $0 }) { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
        let saved = try result.get()
        print("saved \(saved.dataLocalURL.path)")
    }

    /// Ctrl-C closes the connection, keeps the received bytes and ends the program.
    private static func pauseOnInterrupt(
        _ download: DownloadPromise, _ ness: Ness, _ interrupted: @escaping @Sendable () -> Void
    ) -> any DispatchSourceSignal {
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        source.setEventHandler {
            interrupted()
            download.pause()
            Task {
                // Returns when the received bytes are on the disk.
                await ness.reset()
                FileHandle.standardError.write(Data("paused; run the same command to continue\n".utf8))
                exit(ExitCode.interrupted)
            }
        }
        source.resume()
        return source
    }
}
