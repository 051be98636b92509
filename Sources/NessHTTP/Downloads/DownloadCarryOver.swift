import Foundation
import NessLock

/// The state that the attempts of a download leave to the next one, besides the partial file.
///
/// Each caller who has shared the download holds it until the end of its call. A paused caller keeps the partial file, even if another
/// caller started the download.
final class DownloadCarryOver: Sendable {
    private struct State: Sendable {
        /// The number of callers who take part.
        var callers = 0
        /// The path of the partial file, if it does not lie beside the destination.
        var partialPath: String?
    }

    private let state = Lock(State())

    /// Counts a caller, until `leave()`.
    func join() { state.withLock { $0.callers += 1 } }

    /// Removes a caller, whose call has ended, or who takes part in another download.
    func leave() { state.withLock { $0.callers -= 1 } }

    /// True while a caller takes part, who may be paused.
    var hasCallers: Bool { state.withLock { $0.callers > 0 } }

    /// The path of the partial file. `nil` if it lies beside the destination.
    var partialPath: String? { state.withLock { $0.partialPath } }

    /// Sets the path of the partial file, in a folder that is deleted with the file.
    func moves(to path: String) { state.withLock { $0.partialPath = path } }

    /// Removes the folder of the partial file, which has got its name. A later attempt makes another folder.
    func removeFolder() {
        guard let path = state.withLock({ $0.partialPath.take() }) else { return }
        rmdir(URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }
}
