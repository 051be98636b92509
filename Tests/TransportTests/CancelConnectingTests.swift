#if os(Linux) || os(macOS)
import Foundation
import NessHTTP
import TestSupport
import Testing

@testable import NessTesting

/// Drops and timeouts while the connection is being made. The listener's queue is full, so the system does not answer the attempt.
@Suite(.inTurn) struct CancelConnectingTests {
    @Test(
        "a drop and a timeout while connecting end the request immediately, and abandon the attempt", arguments: [HTTPMethod.get, .post],
        [false, true])
    func ends(_ method: HTTPMethod, byTimeout: Bool) async throws {
        let deaf = try DeafListener(), clock = ManualClock()
        let ness = Ness { $0.clock = clock }
        let promise = ness.httpRequest(method, withUrl: deaf.url).set(timeout: .seconds(5)).dataRequest()
        let witness = Witness(promise)
        await deaf.waitUntil { $0 == 1 }
        if byTimeout {
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(6))
        } else {
            promise.drop()
            #expect(promise.isCompleted)
        }
        let ends = [byTimeout ? "timedOut" : "dropped"]
        #expect(await witness.outcome() == ends)
        await deaf.waitUntil { $0 == 0 }
        try await expectAlive(ness)
        #expect(witness.ends == ends)
    }

    @Test("a request that cannot connect delays no other request")
    func others() async throws {
        let deaf = try DeafListener()
        let ness = Ness()
        let stuck = (0..<6).map { ness.httpRequest(withUrl: deaf.url).set(urlParameters: ["n": $0]).dataRequest() }
        await deaf.waitUntil { $0 == 6 }
        try await expectAlive(ness)
        for promise in stuck {
            #expect(!promise.isCompleted)
            promise.drop()
        }
        await deaf.waitUntil { $0 == 0 }
    }

    private func expectAlive(_ ness: Ness) async throws {
        let text = try await serving({ _ in .text("fine") }) { try await ness.get($0.url).text() }
        #expect(text == "fine")
    }
}

/// A port that neither accepts nor refuses. The listener fills its queue itself.
final class DeafListener: Sendable {
    struct Failed: Error { let operation: String }

    private let sockets: [Int32]
    let port: UInt16
    /// The ports of the sockets that fill the queue.
    private let guests: Set<UInt16>
    var url: String { "http://127.0.0.1:\(port)/" }

    init() throws {
        #if os(Linux)
        let (room, guestCount): (Int32, Int) = (0, 1)
        #else
        // Darwin takes 0 for 128, and admits more connections than there is room for. Those that it does not admit go on trying.
        let (room, guestCount): (Int32, Int) = (1, 4)
        #endif
        let sockets = (0...guestCount).map { _ in socket(AF_INET, Platform.streamSocket, 0) }
        for socket in sockets { Platform.closeOnExec(socket) }
        let bound = Platform.withLoopback(0) { bind(sockets[0], $0, $1) }
        guard bound == 0, listen(sockets[0], room) == 0 else { throw Failed(operation: "listen") }
        let port = try Self.port(of: sockets[0])
        var guests: Set<UInt16> = []
        for socket in sockets.dropFirst() {
            #if os(macOS)
            _ = fcntl(socket, F_SETFL, O_NONBLOCK)
            #endif
            let connected = Platform.withLoopback(port) { connect(socket, $0, $1) }
            guard connected == 0 || errno == EINPROGRESS else { throw Failed(operation: "connect") }
            guests.insert(try Self.port(of: socket))
        }
        (self.sockets, self.port, self.guests) = (sockets, port, guests)
    }

    deinit { for socket in sockets { close(socket) } }

    static func port(of socket: Int32) throws -> UInt16 {
        try Platform.withLoopback(0) { address, length in
            var length = length
            guard getsockname(socket, address, &length) == 0 else { throw Failed(operation: "getsockname") }
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
        }
    }

    /// The number of sockets that are connecting to this port, by the ports of both ends of the connections that are being made.
    private func count(_ connecting: [(from: UInt16, to: UInt16)]) -> Int {
        connecting.count { $0.to == port && !guests.contains($0.from) }
    }
}

#if os(Linux)
extension DeafListener {
    /// Suspends until the number of sockets that are connecting to this port meets a condition.
    func waitUntil(_ condition: @escaping @Sendable (Int) -> Bool) async { await untilTrue { condition(self.count(Self.connecting)) } }

    /// The connections in the kernel's table in the state 2, SYN-SENT. Each end is an address and a port in hexadecimal.
    private static var connecting: [(from: UInt16, to: UInt16)] {
        readTable().split(separator: "\n").compactMap { line in
            let columns = line.split(separator: " ")
            guard columns.count > 3, columns[3] == "02", let from = UInt16(columns[1].suffix(4), radix: 16),
                let to = UInt16(columns[2].suffix(4), radix: 16)
            else { return nil }
            return (from, to)
        }
    }

    /// Uses `read` alone: Foundation's readers may never reach the end of a file that changes while it is read.
    private static func readTable() -> String {
        let descriptor = open("/proc/net/tcp", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var table: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(descriptor, &piece, piece.count), count > 0 { table += piece[..<count] }
        return String(decoding: table, as: UTF8.self)
    }
}
#else
extension DeafListener {
    /// Waits until a number of sockets are connecting to this port. No event reports this, so the method polls, a thousand times at most:
    /// whether the queue is full after four connections is a guess.
    func waitUntil(_ condition: @escaping @Sendable (Int) -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async {
        for _ in 0..<1_000 where condition(count(await Self.connecting)) { return }
        Issue.record("netstat did not show the expected connections", sourceLocation: sourceLocation)
    }

    /// The connections that `netstat` shows as SYN_SENT. Each end is an address, a dot and a port.
    private static var connecting: [(from: UInt16, to: UInt16)] {
        get async {
            guard let child = try? Child(["-c", "/usr/sbin/netstat -anp tcp >&2"], executable: URL(filePath: "/bin/sh")) else { return [] }
            await child.endOfLines()
            return child.lines.entries.compactMap { line in
                let columns = line.split(separator: " ")
                guard columns.count > 5, columns[5] == "SYN_SENT", let from = columns[3].split(separator: ".").last.flatMap({ UInt16($0) }),
                    let to = columns[4].split(separator: ".").last.flatMap({ UInt16($0) })
                else { return nil }
                return (from, to)
            }
        }
    }
}
#endif
#endif
