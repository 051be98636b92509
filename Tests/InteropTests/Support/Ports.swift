#if os(Linux)
import Foundation
import NessLock

@testable import NessTesting

/// Chooses ports for servers that cannot choose one themselves and say which.
enum Ports {
    private static let given = Lock<Set<UInt16>>([])

    /// Returns a port of the loopback interface on which nothing listens.
    ///
    /// It lies below those that the system chooses for outgoing connections and for `TestServer`, so no other test takes it before the
    /// server does.
    static func free() throws -> Int {
        for _ in 0..<1_000 {
            let port = UInt16.random(in: 12_000..<32_000)
            guard given.withLock({ $0.insert(port).inserted }), isFree(port) else { continue }
            return Int(port)
        }
        throw NoFreePort()
    }

    private struct NoFreePort: Error {}

    /// Suspends until a server listens on a port, for a server that writes that it does a moment before. No event tells when it
    /// does, so this asks again and again. Gives up after 500 tries.
    static func waitUntilOpen(_ port: Int) async throws {
        for _ in 0..<500 {
            if try succeeds(connect, UInt16(port)) { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw ServerFailure(description: "nothing listens on port \(port)")
    }

    private static func isFree(_ port: UInt16) -> Bool { (try? succeeds(bind, port)) == true }

    /// Calls `bind` or `connect` with a new socket and an address of the loopback interface.
    private static func succeeds(_ call: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32, _ port: UInt16) throws -> Bool {
        let descriptor = socket(AF_INET, Platform.streamSocket, 0)
        guard descriptor >= 0 else { throw NoFreePort() }
        defer { close(descriptor) }
        return Platform.withLoopback(port) { call(descriptor, $0, $1) == 0 }
    }
}

/// A free port for each way to reach a server.
struct Entrances<Entrance: Hashable & CaseIterable & Sendable>: Sendable {
    private let ports: [Entrance: Int]

    init() throws {
        var ports: [Entrance: Int] = [:]
        for entrance in Entrance.allCases { ports[entrance] = try Ports.free() }
        self.ports = ports
    }

    /// The address and port of an entrance.
    subscript(entrance: Entrance) -> String { "127.0.0.1:\(ports[entrance] ?? 0)" }
}
#endif
