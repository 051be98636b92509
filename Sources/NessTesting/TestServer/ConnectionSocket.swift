import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Why a connection's thread stops its work. Never reaches a user.
enum ConnectionEnd: Error {
    /// The peer closed or reset the connection, or the server stops.
    case gone
    /// The script closed it.
    case finished
    /// The script goes back to the handler. Unwinding rather than calling it keeps the stack of a long connection flat.
    case resumed
    /// The request breaks the protocol; the status to answer with before closing.
    case refused(status: Int, text: String)
}

/// An accepted connection. Its own thread reads, writes and closes; any other thread may only `cut()` it, so that no
/// descriptor is closed, and its number given to someone else, while it is in use.
final class ConnectionSocket: @unchecked Sendable {
    // `lock` guards `isClosed` and `wasCut`, and that nobody shuts down a closed descriptor.
    private let lock = NSLock()
    private var isClosed = false
    private var wasCut = false

    /// For the connection's own thread only.
    let descriptor: Int32

    init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close() }

    /// Ends both directions, which wakes the connection's thread whatever it waits for. Callable from any thread.
    func cut() {
        lock.withLock {
            wasCut = true
            if !isClosed { _ = shutdown(descriptor, Platform.shutBoth) }
        }
    }

    /// Whether `cut()` has been called.
    var isCut: Bool { lock.withLock { wasCut } }

    /// Closes the descriptor, once.
    /// - Parameter resetting: Whether the peer gets a reset instead of an orderly end.
    func close(resetting: Bool = false) {
        lock.withLock {
            guard !isClosed else { return }
            isClosed = true
            if resetting {
                var option = linger(l_onoff: 1, l_linger: 0)
                _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            }
            Platform.closeDescriptor(descriptor)
        }
    }

    /// Sends the end of the stream; reading goes on.
    func closeWriting() { _ = shutdown(descriptor, Platform.shutWrite) }

    /// Receives what has come, or blocks until something comes.
    /// - Returns: The number of bytes; 0 at the end of the stream.
    /// - Throws: `ConnectionEnd.gone` when the connection was reset.
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard let base = buffer.baseAddress else { return 0 }
        let (count, _) = Platform.retrying { recv(descriptor, base, buffer.count, 0) }
        guard count >= 0 else { throw ConnectionEnd.gone }
        return count
    }

    /// Reads and drops what has already come, without blocking: closing over unread bytes would turn the close into a reset.
    func discardPending(using buffer: UnsafeMutableRawBufferPointer) {
        guard let base = buffer.baseAddress else { return }
        while Platform.retrying({ recv(descriptor, base, buffer.count, Int32(MSG_DONTWAIT)) }).result > 0 {}
    }

    /// Sends everything, blocking while the peer does not read.
    /// - Throws: `ConnectionEnd.gone` when the connection has ended.
    func send(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty, let base = rest.baseAddress {
            let (count, _) = Platform.retrying { sendBytes(base, rest.count) }
            guard count >= 0 else { throw ConnectionEnd.gone }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    private func sendBytes(_ base: UnsafeRawPointer, _ count: Int) -> Int {
        #if canImport(Glibc)
        Glibc.send(descriptor, base, count, Platform.sendFlags)
        #elseif canImport(Musl)
        Musl.send(descriptor, base, count, Platform.sendFlags)
        #else
        Darwin.send(descriptor, base, count, Platform.sendFlags)
        #endif
    }
}
