import CurlInC
import Foundation
import Measure
import NessHTTP
import Upstream

/// Measures the processor time of a GET, of which 16 are concurrent, while more and more other requests wait for a response. Then the memory
/// of such a request.
func measureGrowth(_ all: [Contender]) async throws {
    #if os(Linux)
    let contenders = try all.filter { ["CurlTransport without Ness", "Ness", "AsyncHTTPClient"].contains($0.name) }
        .map { (contender: $0, server: try SilentServer()) }
    let count = isQuick ? 1_600 : 6_400
    var waiting = 0
    var figures: [String: [Measured]] = [:]
    var memory: [(name: String, bytes: Double)] = []
    for crowd in [0, 300, 1_000, 3_000] {
        for (contender, server) in contenders {
            let before = try residentBytes()
            // The requests wait until this process ends.
            for number in waiting..<crowd { Task { try await contender.get?(server.url.appendingPathComponent("\(number)")) } }
            // Waits until all connections are open, and the process is idle.
            while try await Cost.measure({ try await Task.sleep(for: .milliseconds(200)) }).load > 3 {}
            // Earlier figures contain memory that the process would need anyway.
            if crowd == 3_000 { memory.append((contender.name, (try residentBytes() - before) / Double(crowd - waiting))) }
        }
        waiting = crowd
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
    memory.insert(("libcurl in C", try memoryInC(2_000)), at: 0)
    for (name, bytes) in memory {
        try Measured("Memory of a GET that waits for a response over HTTP/1.1", "KiB", .less, name, [bytes / 1_024]).report()
    }
    #endif
}

#if os(Linux)
/// Returns the memory of a waiting GET of libcurl without Swift, in bytes.
private func memoryInC(_ count: Int) throws -> Double {
    let url = try SilentServer().url.absoluteString
    return try url.withCString { url in
        let before = try residentBytes()
        // The transfers wait until this process ends.
        let urls: [UnsafePointer<CChar>?] = Array(repeating: url, count: count)
        guard let client = curl_in_c_new(urls, Int32(count), nil, nil) else { throw Failed(reason: "there is no libcurl") }
        curl_in_c_hold(client)
        return (try residentBytes() - before) / Double(count)
    }
}

/// The resident memory of this process, in bytes.
private func residentBytes() throws -> Double {
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    return pages.count > 1 ? (Double(pages[1]) ?? 0) * Double(getpagesize()) : 0
}

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
