#if os(Linux)
import Foundation
import Glibc
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Drops and timeouts while the connection is being made. The listener's queue is full, so Linux does not answer the attempt.
@Suite(.inTurn) struct CancelConnectingTests {
    @Test("a drop while connecting ends the request at once, and abandons the attempt", arguments: [HTTPMethod.get, .post])
    func drop(_ method: HTTPMethod) async throws {
        let deaf = try DeafListener()
        let ness = Ness()
        let promise = ness.httpRequest(method, withUrl: deaf.url).dataRequest()
        let witness = Witness(promise)
        await deaf.waitUntil { $0 == 1 }
        promise.drop()
        #expect(promise.isCompleted)
        #expect(await witness.outcome() == ["dropped"])
        await deaf.waitUntil { $0 == 0 }
        try await expectAlive(ness)
        #expect(witness.ends == ["dropped"])
    }

    @Test("a timeout while connecting is reported as such, and abandons the attempt")
    func timeout() async throws {
        let deaf = try DeafListener(), clock = ManualClock()
        let ness = Ness { $0.clock = clock }
        let promise = ness.httpRequest(withUrl: deaf.url).set(timeout: .seconds(10)).dataRequest()
        let witness = Witness(promise)
        await deaf.waitUntil { $0 == 1 }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(11))
        #expect(await witness.outcome() == ["timedOut"])
        await deaf.waitUntil { $0 == 0 }
        try await expectAlive(ness)
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
        try await serving({ _ in .text("fine") }) { good in
            let text = try await ness.httpRequest(withUrl: good.url).dataRequest().value.message.text
            #expect(text == "fine")
        }
    }
}

/// A port that neither accepts nor refuses. Its queue has room for one connection, which the listener makes itself.
final class DeafListener: Sendable {
    struct Failed: Error { let operation: String }

    private let listener, guest: Int32
    private let port: UInt16
    var url: String { "http://127.0.0.1:\(port)/" }

    init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guest = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (listener, guest) = (listener, guest)
        let failed: String? = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                if bind(listener, generic, length) != 0 { return "bind" }
                if listen(listener, 0) != 0 { return "listen" }
                if getsockname(listener, generic, &length) != 0 { return "getsockname" }
                return connect(guest, generic, length) == 0 ? nil : "connect"
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        if let failed { throw Failed(operation: failed) }
    }

    deinit {
        close(guest)
        close(listener)
    }

    /// Waits until a number of sockets are connecting to this port. No event reports this, so the method polls. It polls on a thread of its
    /// own, because a spinning task keeps others from running.
    func waitUntil(_ condition: @escaping @Sendable (Int) -> Bool) async {
        await withCheckedContinuation { continuation in
            Thread {
                while !condition(self.attempts) { sched_yield() }
                continuation.resume()
            }.start()
        }
    }

    /// The number of sockets that are connecting to this port now: state 2, SYN-SENT, in the kernel's table.
    private var attempts: Int {
        let table = Self.readTable()
        let remote = ":" + String(port, radix: 16, uppercase: true).leftPadded
        return table.split(separator: "\n").count { line in
            let columns = line.split(separator: " ")
            return columns.count > 3 && columns[2].hasSuffix(remote) && columns[3] == "02"
        }
    }
}

extension DeafListener {
    /// Uses `read` alone: Foundation's readers may never reach the end of a file that changes while it is read.
    fileprivate static func readTable() -> String {
        let descriptor = open("/proc/net/tcp", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var table: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(descriptor, &piece, piece.count), count > 0 { table += piece[..<count] }
        return String(decoding: table, as: UTF8.self)
    }
}

extension String {
    fileprivate var leftPadded: String { String(repeating: "0", count: max(0, 4 - count)) + self }
}
#endif
