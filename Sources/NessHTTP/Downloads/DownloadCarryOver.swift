import Foundation
import NessLock

/// The state that the attempts of a download leave to the next one, besides the partial file.
///
/// Each caller who has shared the download holds it until the end of its call. A paused caller keeps the partial file, and gets the result
/// that the others have received meanwhile, even if another caller started the download.
final class DownloadCarryOver: Sendable {
    private struct State: Sendable {
        /// The number of callers who take part.
        var callers = 0
        var response: HTTPResponse?
        /// The identifiers of the callers who have taken it.
        var takers: Set<Int> = []
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

    // Without the kept response, a pause between the rename of the file and the result would fetch the file again, and a folder would get it
    // twice.

    func keep(_ finished: HTTPResponse) {
        let path = state.withLock { state in
            (state.response, state.takers) = (finished, [])
            // A later attempt makes another folder.
            return state.partialPath.take()
        }
        if let path { rmdir(URL(fileURLWithPath: path).deletingLastPathComponent().path) }
    }

    /// Returns the kept response, once for each caller, if its file still exists.
    /// - Parameter caller: The identifier of the caller's request.
    func take(for caller: Int) -> HTTPResponse? {
        let finished = state.withLock { $0.takers.insert(caller).inserted ? $0.response : nil }
        guard let path = finished?.file?.path, FileManager.default.fileExists(atPath: path) else { return nil }
        return finished
    }
}
