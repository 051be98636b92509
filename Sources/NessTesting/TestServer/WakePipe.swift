import Foundation

/// Wakes a thread that is in `poll`, from any other thread. A woken pipe stays woken.
final class WakePipe: @unchecked Sendable {
    // `lock` guards `isClosed` and the writing end, so no thread writes to a closed descriptor.
    private let lock = NSLock()
    private var isClosed = false
    private let writingEnd: Int32

    /// The descriptor that the thread polls for `POLLIN`.
    let readingEnd: Int32

    /// Makes a pipe.
    /// - Throws: `TestServerError` if the process has no descriptors left.
    init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw TestServerError(operation: "pipe", code: errno) }
        readingEnd = ends[0]
        writingEnd = ends[1]
        for end in ends {
            Platform.closeOnExec(end)
            Platform.setBlocking(end, false)
        }
    }

    deinit { close() }

    /// Wakes the thread.
    func wake() {
        lock.withLock {
            guard !isClosed else { return }
            var byte: UInt8 = 1
            _ = Platform.retrying { write(writingEnd, &byte, 1) }
        }
    }

    /// Closes the descriptors. Only the thread that polls may call this.
    func close() {
        lock.withLock {
            guard !isClosed else { return }
            isClosed = true
            Platform.closeDescriptor(writingEnd)
            Platform.closeDescriptor(readingEnd)
        }
    }
}
