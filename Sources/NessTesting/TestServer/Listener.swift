import Foundation

/// The listening socket and its accept loop. Only the thread in `acceptAll` closes the socket.
final class Listener: Sendable {
    private let descriptor: Int32
    private let wakeUp: WakePipe

    /// The port of the socket.
    let port: UInt16

    /// Listens on 127.0.0.1.
    /// - Parameter requested: The port, or 0 for one that the system picks.
    /// - Throws: `TestServerError` if the port is taken or the process has no descriptors left.
    init(port requested: UInt16) throws {
        let wakeUp = try WakePipe()
        let descriptor = socket(AF_INET, Platform.streamSocket, 0)
        guard descriptor >= 0 else { throw TestServerError(operation: "socket", code: errno) }
        do {
            // On Darwin accepted sockets inherit the option.
            guard Platform.prepareSocket(descriptor) else { throw TestServerError(operation: "setsockopt", code: errno) }
            Platform.setBlocking(descriptor, false)
            Platform.setOption(descriptor, level: SOL_SOCKET, name: SO_REUSEADDR, value: 1)
            port = try Listener.bindAndListen(descriptor, port: requested)
        } catch {
            Platform.closeDescriptor(descriptor)
            throw error
        }
        self.descriptor = descriptor
        self.wakeUp = wakeUp
    }

    private static func bindAndListen(_ descriptor: Int32, port: UInt16) throws -> UInt16 {
        try Platform.withLoopback(port) { address, size in
            var size = size
            guard bind(descriptor, address, size) == 0 else { throw TestServerError(operation: "bind", code: errno) }
            // Darwin queues 128 connections at most. A client whose connection finds no place tries again after a second.
            guard listen(descriptor, 1024) == 0 else { throw TestServerError(operation: "listen", code: errno) }
            guard getsockname(descriptor, address, &size) == 0 else { throw TestServerError(operation: "getsockname", code: errno) }
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
        }
    }

    /// Makes `acceptAll` return. Callable from any thread, any number of times.
    func stop() { wakeUp.wake() }

    /// Accepts connections until `stop()`, then closes the socket. Blocks its thread.
    /// - Parameter body: Takes each connection's descriptor, on this thread, and has to close it.
    func acceptAll(_ body: (Int32) -> Void) {
        defer {
            Platform.closeDescriptor(descriptor)
            wakeUp.close()
        }
        var isStarved = false
        while true {
            // With no descriptors left, the listener would stay readable. So only the wake-up is polled then, for 50 ms.
            var descriptors = [pollfd(fd: wakeUp.readingEnd, events: Platform.readable, revents: 0)]
            if !isStarved { descriptors.append(pollfd(fd: descriptor, events: Platform.readable, revents: 0)) }
            Platform.wait(for: &descriptors, timeout: isStarved ? 50 : -1)
            if descriptors[0].revents != 0 { return }
            isStarved = acceptPending(body)
        }
    }

    /// Accepts all waiting connections.
    /// - Returns: True if the process has run out of descriptors or memory.
    private func acceptPending(_ body: (Int32) -> Void) -> Bool {
        while true {
            let (accepted, code) = Platform.retrying { Int(accept(descriptor, nil, nil)) }
            guard accepted >= 0 else { return code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM }
            guard Platform.prepareSocket(Int32(accepted)) else {
                Platform.closeDescriptor(Int32(accepted))
                continue
            }
            // On Darwin accepted sockets inherit the listener's mode.
            Platform.setBlocking(Int32(accepted), true)
            body(Int32(accepted))
        }
    }
}
