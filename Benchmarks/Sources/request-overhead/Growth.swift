import Foundation
import Measure
import NessHTTP
import Upstream

/// Measures the processor time of a GET, of which 16 are concurrent, while more and more other requests wait for a response.
func measureGrowth(_ all: [Contender]) async throws {
    #if os(Linux)
    let contenders = try all.filter { ["CurlTransport without Ness", "Ness", "AsyncHTTPClient"].contains($0.name) }
        .map { (contender: $0, server: try SilentServer()) }
    let count = isQuick ? 1_600 : 6_400
    var waiting = 0
    var figures: [String: [Measured]] = [:]
    for crowd in [0, 300, 1_000, 3_000] {
        for (contender, server) in contenders {
            // The requests wait until this process ends.
            for number in waiting..<crowd { Task { try await contender.get?(server.url.appendingPathComponent("\(number)")) } }
        }
        waiting = crowd
        // Waits until all connections are open, and the process is idle.
        while try await Cost.measure({ try await Task.sleep(for: .milliseconds(200)) }).load > 3 {}
        let costs = try await Rounds.measure(
            rounds(9), contenders.map { each in (each.contender.name, { try await each.contender.run(count, 16) }) })
        for (contender, _) in contenders {
            let measured = Measured(
                "CPU of a GET while other requests wait for a response", "µs per GET", .less,
                "\(contender.name), \(figure(Double(crowd))) waiting",
                costs.micros(contender.name, per: count, of: \.processorSeconds))
            figures[contender.name, default: []].append(measured)
        }
    }
    for (contender, _) in contenders { for each in figures[contender.name] ?? [] { try each.report() } }
    #endif
}

#if os(Linux)
/// A server that accepts no connection: the system opens them, and no response follows.
private struct SilentServer {
    let url: URL

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port: UInt16? = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 4_096) == 0 && getsockname(descriptor, $0, &length) == 0
            } ? UInt16(bigEndian: $0.pointee.sin_port) : nil
        }
        guard let port, let url = URL(string: "http://127.0.0.1:\(port)") else { throw Failed(reason: "no socket listens") }
        self.url = url
    }
}
#endif
