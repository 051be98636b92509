import Foundation

/// Forwards bytes in both directions between a client and another server, on the connection's thread.
struct Tunnel {
    private let client: ConnectionSocket
    private let server: ConnectionSocket

    /// Connects to the server.
    /// - Throws: `ConnectionEnd.gone` if nothing listens. The client has been sent a reset then.
    init(from client: ConnectionSocket, toPort port: Int) throws {
        self.client = client
        guard let port = UInt16(exactly: port), let descriptor = Self.connection(to: port) else {
            client.close(resetting: true)
            throw ConnectionEnd.gone
        }
        server = ConnectionSocket(descriptor: descriptor, stop: client.stop)
    }

    /// Connects to a port of 127.0.0.1; `nil` if nothing listens there.
    static func connection(to port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Platform.streamSocket, 0)
        guard descriptor >= 0 else { return nil }
        _ = Platform.prepareSocket(descriptor)
        let (result, _) = Platform.withLoopback(port) { address, length in
            // The system accepts or refuses a loopback connection immediately.
            Platform.retrying { Int(connect(descriptor, address, length)) }
        }
        if result == 0 { return descriptor }
        Platform.closeDescriptor(descriptor)
        return nil
    }

    /// Forwards all bytes until both sides have ended.
    /// - Parameter first: The bytes that the client has sent already.
    /// - Throws: `ConnectionEnd.gone` if the server that runs the tunnel stops.
    func run(first: [UInt8]) throws {
        defer { server.close() }
        do {
            try first.withUnsafeBytes { try server.send($0) }
            try relay()
        } catch {
            // If one side was reset, the other side must also see a reset.
            server.close(resetting: true)
            client.close(resetting: true)
            throw error
        }
    }

    private func relay() throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var open = [(from: client, to: server), (from: server, to: client)]
        while !open.isEmpty {
            var descriptors = open.map { pollfd(fd: $0.from.descriptor, events: Platform.readable, revents: 0) }
            descriptors.append(pollfd(fd: client.stop, events: Platform.readable, revents: 0))
            Platform.wait(for: &descriptors, timeout: -1)
            if descriptors.last?.revents != 0 { throw ConnectionEnd.gone }
            for (index, way) in open.enumerated().reversed() where descriptors[index].revents != 0 {
                let count = try way.from.receive(into: buffer)
                if count == 0 {
                    way.to.closeWriting()
                    open.remove(at: index)
                } else {
                    try way.to.send(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                }
            }
        }
    }
}
