#if os(Linux)
import Foundation
import NessTesting

/// An HAProxy before `Node`, with a port for each way in which a gateway fails.
struct HAProxy: SharedServer {
    /// A port of its own for each behavior.
    enum Entrance: String, CaseIterable, Sendable {
        /// Forwards requests.
        case forwarding
        /// Gives the origin 300 ms for its response.
        case impatient
        /// Has an origin on which nothing listens.
        case originless
        /// Answers with 429 and Retry-After.
        case limiting
    }

    let process: ServerProcess
    let entrances: Entrances<Entrance>

    static func start(in folder: URL) async throws -> HAProxy {
        let node = try await Servers.get(Node.self)
        let entrances = try Entrances<Entrance>()
        let configuration = """
            global
                stats socket \(folder.path)/stats mode 600 level admin expose-fd listeners
            defaults
                mode http
                timeout connect 1s
                timeout client 10s
                timeout server 10s
                retries 0
            listen forwarding
                bind \(entrances[.forwarding])
                server origin 127.0.0.1:\(node.port)
            listen impatient
                bind \(entrances[.impatient])
                timeout server 300ms
                server origin 127.0.0.1:\(node.port)
            listen originless
                bind \(entrances[.originless])
                server origin 127.0.0.1:1
            frontend limiting
                bind \(entrances[.limiting])
                http-request return status 429 content-type text/plain string "slow down" hdr Retry-After 3600

            """
        let file = folder.appending(path: "haproxy.cfg")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        let arguments = ["-W", "-db", "-f", file.path]
        return HAProxy(process: try await .start(.haproxy, arguments, in: folder, ready: "Loading success"), entrances: entrances)
    }

    /// A URL of this server.
    /// - Parameters:
    ///   - path: The path.
    ///   - entrance: The port.
    func at(_ path: String, _ entrance: Entrance = .forwarding) -> String { "http://\(entrances[entrance])\(path)" }

    /// Replaces the worker. Returns when the old one has finished its requests and ended, because a signal that the master gets before that
    /// can be lost.
    func reload() async throws { try await process.signal(SIGUSR2, until: "Former worker") }
}
#endif
