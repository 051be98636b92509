#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import NessHTTP
@testable import NessTesting

/// The sockets that libcurl uses, found by the two ends of their connections.
@Suite(.inTurn) struct CurlConnectionsTests {
    /// A server with one connection, from a client whose local port a test chooses.
    private final class Door {
        private let listener = socket(AF_INET, Platform.streamSocket, 0)
        let client = socket(AF_INET, Platform.streamSocket, 0)
        private(set) var accepted: Int32
        let port: UInt16

        init(from localPort: UInt16) throws {
            let (listener, client) = (listener, client)
            #expect(Platform.setOption(client, level: SOL_SOCKET, name: SO_REUSEADDR, value: 1))
            try #require(Platform.withLoopback(0) { bind(listener, $0, $1) } == 0 && listen(listener, 1) == 0)
            let port = try DeafListener.port(of: listener)
            try #require(Platform.withLoopback(localPort) { bind(client, $0, $1) } == 0)
            try #require(Platform.withLoopback(port) { connect(client, $0, $1) } == 0)
            (self.port, accepted) = (port, accept(listener, nil, nil))
        }

        /// Closes the server's end so that the client's is reset.
        func reset() {
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(accepted, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            close(accepted)
            accepted = -1
        }

        deinit { for socket in [listener, client, accepted] { close(socket) } }
    }

    @Test("of two connections with one local port, the one whose server has sent bytes is stale, and the one that was closed is closed")
    func oneLocalPort() throws {
        let first = try Door(from: 0), port = try DeafListener.port(of: first.client)
        let connections = CurlConnections(), doors = [first, try Door(from: port)]
        for door in doors { connections.add(door.client) }
        let found = doors.compactMap { door in
            connections.descriptor(of: CurlConnections.Ends(localPort: port, remoteAddress: "127.0.0.1", remotePort: door.port))
        }
        #expect(found == doors.map(\.client))
        #expect(found.map(connections.isStale) == [false, false])
        #expect(send(doors[0].accepted, "H", 1, 0) == 1)
        var seen = pollfd(fd: found[0], events: Int16(POLLIN), revents: 0)
        #expect(poll(&seen, 1, -1) == 1)
        #expect(found.map(connections.isStale) == [true, false])
        connections.noteEndOverTLS(found[0])
        #expect(found.map(connections.isStaleOverTLS) == [true, false])
        #expect(shutdown(doors[1].accepted, Int32(SHUT_WR)) == 0)
        seen.fd = found[1]
        #expect(poll(&seen, 1, -1) == 1)
        #expect(found.map(connections.isClosed) == [false, true])
        // A connection that nobody has is none of these.
        let other = CurlConnections.Ends(localPort: port, remoteAddress: "127.0.0.2", remotePort: first.port)
        #expect(connections.descriptor(of: other) == nil)
        // It has not ended an exchange, but its server has closed it.
        #expect(connections.isStaleOverTLS(found[1]))
    }

    @Test("a socket whose number now belongs to a connection from another port is not found under the port that it had")
    func reusedNumber() throws {
        let old = try Door(from: 0), other = try Door(from: 0), port = try DeafListener.port(of: old.client)
        let connections = CurlConnections()
        connections.add(old.client)
        #expect(
            connections.descriptor(of: CurlConnections.Ends(localPort: port, remoteAddress: "127.0.0.1", remotePort: old.port))
                == old.client)
        // The number of the closed socket now stands for the other door's connection.
        try #require(dup2(other.client, old.client) == old.client)
        let client = socket(AF_INET, Platform.streamSocket, 0)
        defer { close(client) }
        #expect(Platform.setOption(client, level: SOL_SOCKET, name: SO_REUSEADDR, value: 1))
        try #require(Platform.withLoopback(port) { bind(client, $0, $1) } == 0)
        try #require(Platform.withLoopback(other.port) { connect(client, $0, $1) } == 0)
        connections.add(client)
        #expect(
            connections.descriptor(of: CurlConnections.Ends(localPort: port, remoteAddress: "127.0.0.1", remotePort: other.port))
                == client)
    }

    @Test("a connection that the server has reset is stale, over http and https")
    func reset() throws {
        for isSecure in [false, true] {
            let door = try Door(from: 0), connections = CurlConnections()
            connections.add(door.client)
            #expect(!connections.isStale(door.client) && !connections.isStaleOverTLS(door.client))
            door.reset()
            var seen = pollfd(fd: door.client, events: Int16(POLLIN), revents: 0)
            #expect(poll(&seen, 1, -1) == 1)
            #expect(isSecure ? connections.isStaleOverTLS(door.client) : connections.isStale(door.client))
        }
    }
}
#endif
