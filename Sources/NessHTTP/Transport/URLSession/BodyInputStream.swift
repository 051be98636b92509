import Foundation

#if canImport(FoundationNetworking)
/// A request's body, as URLSession on Linux reads it. All sessions share one reading queue, so a read may wait for a disk, but for nothing
/// else.
final class BodyInputStream: InputStream {
    // `lock` guards every var.
    private let lock = NSLock()
    private var reader: HTTPBodyReader?
    private var status = Stream.Status.notOpen
    private let fail: @Sendable (any Error) -> Void

    /// - Parameter fail: Receives the error. URLSession only learns that the stream failed, but not why.
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
