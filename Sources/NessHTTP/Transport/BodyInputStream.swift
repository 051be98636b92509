import Foundation

#if canImport(FoundationNetworking)
/// A request's body as URLSession on Linux reads it: on its one queue for all sessions, so that a read must not wait for anything but
/// a disk.
final class BodyInputStream: InputStream {
    // `lock` guards every var.
    private let lock = NSLock()
    private var reader: HTTPBodyReader?
    private var status = Stream.Status.notOpen
    private let fail: @Sendable (any Error) -> Void

    /// - Parameter fail: Told what went wrong. URLSession only learns that something did, which would leave the reason to guesses.
    init(_ reader: HTTPBodyReader, fail: @escaping @Sendable (any Error) -> Void) {
        self.reader = reader
        self.fail = fail
        super.init(data: Data())
    }

    override var streamStatus: Stream.Status { lock.withLock { status } }
    override var streamError: (any Error)? { nil }
    override var hasBytesAvailable: Bool { lock.withLock { status != .atEnd && status != .closed && status != .error } }
    override func open() { lock.withLock { if status == .notOpen { status = .open } } }

    override func close() {
        lock.withLock {
            status = .closed
            reader = nil
        }
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        do {
            return try lock.withLock {
                guard let reader, status == .open else { return 0 }
                let data = try reader.read(upTo: length)
                data.copyBytes(to: buffer, count: data.count)
                if data.isEmpty { status = .atEnd }
                return data.count
            }
        } catch {
            lock.withLock { status = .error }
            fail(error)
            return -1
        }
    }
}
#endif
