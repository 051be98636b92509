#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The sockets that libcurl uses, found by the two ends of their connections.
@Suite(.inTurn) struct CurlConnectionsTests {
    /// A listening socket, and the one that it has accepted.
    private final class Door {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        private(set) var accepted: Int32 = -1
        private(set) var port: UInt16 = 0

        init() throws {
            try listener.bind(to: 0)
            #expect(listen(listener, 1) == 0)
            port = listener.ownPort
        }

        func accept() { accepted = Glibc.accept(listener, nil, nil) }

        deinit {
            close(listener)
            if accepted >= 0 { close(accepted) }
        }
    }

    @Test("of two connections with one local port, the one whose server has sent bytes is stale, and the one that was closed is closed")
    func oneLocalPort() throws {
        let connections = CurlConnections(), doors = [try Door(), try Door()]
        var ends: [CurlConnections.Ends] = [], sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        var port: UInt16 = 0
        for door in doors {
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            sockets.append(client)
            try client.bind(to: port)
            if port == 0 { port = client.ownPort }
            try client.connect(to: door.port)
            door.accept()
            connections.add(client)
            ends.append(CurlConnections.Ends(localPort: port, remoteAddress: "127.0.0.1", remotePort: door.port))
        }
        let found = ends.compactMap(connections.descriptor)
        #expect(found == sockets)
        #expect(found.map(connections.isStale) == [false, false])
        #expect(send(doors[0].accepted, "H", 1, 0) == 1)
        var seen = pollfd(fd: sockets[0], events: Int16(POLLIN), revents: 0)
        #expect(poll(&seen, 1, -1) == 1)
        #expect(found.map(connections.isStale) == [true, false])
        connections.secure(found[0])
        #expect(found.map(connections.isSecureStale) == [true, false])
        #expect(shutdown(doors[1].accepted, Int32(SHUT_WR)) == 0)
        seen.fd = sockets[1]
        #expect(poll(&seen, 1, -1) == 1)
        #expect(found.map(connections.isClosed) == [false, true])
        // A connection that nobody has is none of these.
        let other = CurlConnections.Ends(localPort: port, remoteAddress: "127.0.0.2", remotePort: doors[0].port)
        #expect(connections.descriptor(of: other) == nil)
    }
}

extension Int32 {
    private struct Failure: Error { let code: Int32 }

    fileprivate func bind(to port: UInt16) throws {
        var on: Int32 = 1
        setsockopt(self, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        guard Self.with(port, { Glibc.bind(self, $0, $1) }) == 0 else { throw Failure(code: errno) }
    }

    fileprivate func connect(to port: UInt16) throws {
        guard Self.with(port, { Glibc.connect(self, $0, $1) }) == 0 else { throw Failure(code: errno) }
    }

    fileprivate var ownPort: UInt16 {
        var address = sockaddr_in(), length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutableBytes(of: &address) { bytes in
            bytes.baseAddress.map { getsockname(self, $0.assumingMemoryBound(to: sockaddr.self), &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func with(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafeBytes(of: &address) { bytes in
            bytes.baseAddress.map { body($0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) } ?? -1
        }
    }
}
#endif
