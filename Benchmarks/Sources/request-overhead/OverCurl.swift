import AsyncHTTPClient
import AsyncHTTPClientTransport
import CurlInC
import Foundation
import Measure
import NessHTTP
import Synchronization
import Upstream

/// A client that sends GET requests.
private struct Contender {
    let name: String
    /// Sends a number of requests, as many at once as the second argument says. Each of these has a URL of its own.
    let get: @Sendable (_ count: Int, _ parallel: Int) async throws -> Void
}

/// Compares bare libcurl in C, the transport alone, Ness over it, AsyncHTTPClient, and Ness over that.
func measureCurl(_ url: URL, late: URL) async throws {
    #if os(Linux)
    // Different URLs, because Ness would share the response among callers of the same one.
    let urls = (0..<width).compactMap { URL(string: "\(url.absoluteString)?n=\($0)") }
    guard let transport = CurlTransport(), let inC = CurlClient(urls) else { throw Failed(reason: "there is no libcurl") }
    let ness = Ness { $0.maximumConnectionsPerHost = width }
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = width
    let peer = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let nessOverPeer = Ness {
        $0.transport = AsyncHTTPClientTransport(peer)
        $0.maximumConnectionsPerHost = width
    }
    let contenders = [
        Contender(name: "libcurl in C") { count, parallel in try inC.get(count, parallel) },
        Contender(name: "CurlTransport") { count, parallel in
            try await divide(count, among: parallel) { index, count in
                let request = HTTPRequest(.get, url: urls[index])
                for _ in 0..<count { try await get(request, over: transport) }
            }
        },
        Contender(name: "Ness") { count, parallel in
            try await divide(count, among: parallel) { index, count in try await sequential(count, over: ness, urls[index]) }
        },
        Contender(name: "AsyncHTTPClient") { count, parallel in
            try await divide(count, among: parallel) { index, count in
                for _ in 0..<count {
                    let response = try await peer.execute(HTTPClientRequest(url: urls[index].absoluteString), timeout: .seconds(60))
                    try expect(try await response.body.collect(upTo: 1 << 20).readableBytes)
                }
            }
        },
        Contender(name: "Ness over AsyncHTTPClient") { count, parallel in
            try await divide(count, among: parallel) { index, count in try await sequential(count, over: nessOverPeer, urls[index]) }
        },
    ]
    let (one, many) = (2_000, 12_800)
    let alone = try await Rounds.measure(rounds(7), contenders.map { contender in (contender.name, { try await contender.get(one, 1) }) })
    let together = try await Rounds.measure(
        rounds(7), contenders.map { contender in (contender.name, { try await contender.get(many, width) }) })
    for name in contenders.map(\.name) {
        print(
            "\(name): sequential \(decimal(median(alone.micros(name, per: one)))) µs,",
            "CPU \(decimal(median(alone.micros(name, per: one, of: \.processorSeconds)))) µs;",
            "\(width) at once \(Int(Double(many) / median(together[name].map(\.seconds)))) a second,",
            "CPU \(decimal(median(together.micros(name, per: many, of: \.processorSeconds)))) µs each")
    }
    for (name, time, speed) in [("CurlTransport", 1.2, 0.75), ("Ness", 1.35, 0.7)] {
        let times = alone.ratios(name, to: "libcurl in C")
        try Row("\(name), sequential, times libcurl in C", times, .atMost(time), missedBecause: Reason.wakeUps).report()
        let speeds = together.ratios("libcurl in C", to: name)
        let reason = name == "Ness" ? Reason.asyncFrames : Reason.engine
        try Row("\(name), \(width) at once, requests a second against libcurl in C", speeds, .atLeast(speed), missedBecause: reason)
            .report()
        let work = together.ratios(name, to: "libcurl in C", of: \.processorSeconds)
        try Row("\(name), \(width) at once, CPU a request times libcurl in C", work).report()
    }
    let times = alone.ratios("Ness", to: "AsyncHTTPClient")
    try Row("Ness, sequential, times AsyncHTTPClient", times, .atMost(0.85), missedBecause: Reason.wakeUps).report()
    let speeds = together.ratios("AsyncHTTPClient", to: "Ness")
    try Row("Ness, \(width) at once, requests a second against AsyncHTTPClient", speeds, .atLeast(1.15), missedBecause: Reason.asyncFrames)
        .report()
    let work = together.ratios("Ness", to: "AsyncHTTPClient", of: \.processorSeconds)
    try Row("Ness, \(width) at once, CPU a request times AsyncHTTPClient's", work, .atMost(0.8), missedBecause: Reason.asyncFrames).report()
    let over = together.ratios("AsyncHTTPClient", to: "Ness over AsyncHTTPClient")
    try Row("Ness over AsyncHTTPClient, \(width) at once, requests a second against it bare", over).report()
    try await peer.shutdown()
    try await measureWaiting(late, .curl)
    #else
    throw Failed(reason: "CurlTransport is for Linux")
    #endif
}

#if os(Linux)
/// libcurl without Swift: one client for a single request at a time, and one for many.
private final class CurlClient: Sendable {
    // One contender runs at a time, and no client is used by two calls at once.
    nonisolated(unsafe) private let single: OpaquePointer
    nonisolated(unsafe) private let parallel: OpaquePointer

    init?(_ urls: [URL]) {
        let texts = urls.map { strdup($0.absoluteString) }
        defer { for text in texts { free(text) } }
        let pointers = texts.map { UnsafePointer($0) }
        guard let single = curl_in_c_new(pointers, 1), let parallel = curl_in_c_new(pointers, Int32(urls.count)) else { return nil }
        (self.single, self.parallel) = (single, parallel)
    }

    deinit {
        curl_in_c_free(single)
        curl_in_c_free(parallel)
    }

    func get(_ count: Int, _ width: Int) throws {
        let good = curl_in_c_run(width == 1 ? single : parallel, count, Upstream.bodySize)
        guard good == count else { throw Failed(reason: "libcurl in C: \(count - good) of \(count) requests failed") }
    }
}

/// Sends a request over a transport, and collects its body.
private func get(_ request: HTTPRequest, over transport: CurlTransport) async throws {
    let body = Body()
    try await transport.send(request) { event in
        if case .body(let data) = event { body.data.withLock { $0.append(data) } }
    }
    try expect(body.data.withLock(\.count))
}

/// The body of a response.
private final class Body: Sendable {
    let data = Mutex(Data())
}
#endif
