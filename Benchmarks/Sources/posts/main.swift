// The cost of a POST of 1 KiB over HTTP/1.1, without and with TLS: libcurl in C, Ness and AsyncHTTPClient take turns. A POST must not be sent
// twice, so a client that reuses connections has to know which of them are still open.
//   swift run -c release --package-path Benchmarks posts
import AsyncHTTPClient
import CurlInC
import Foundation
import Measure
import NIOSSL
import NessHTTP
import Upstream

#if os(Linux)
try await Upstream.serveIfAsked()
let upstream = try await Upstream.start()
let content = String(repeating: "x", count: 1_024), body = Data(content.utf8)
let width = 64, count = isQuick ? 5_120 : 12_800, few = isQuick ? 800 : 2_400

/// A client that sends POST requests.
struct Contender {
    let name: String
    /// Sends a number of POSTs, of which some are concurrent.
    let run: (_ count: Int, _ parallel: Int) async throws -> Void

    init(_ name: String, _ url: URL, _ post: @escaping @Sendable (URL) async throws -> Int) {
        self.name = name
        run = { count, parallel in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<parallel {
                    group.addTask {
                        for _ in 0..<count / parallel {
                            guard try await post(url) == Upstream.bodySize else { throw Failed(reason: "\(name): another length") }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// libcurl without Swift. It would send a POST again if a connection were lost.
    init(inC url: URL, _ authorities: String?) throws {
        let text = strdup(url.absoluteString)
        defer { free(text) }
        let texts = Array(repeating: UnsafePointer(text), count: width)
        guard let single = curl_in_c_new(texts, 1, content, authorities),
            let many = curl_in_c_new(texts, Int32(width), content, authorities)
        else { throw Failed(reason: "there is no libcurl") }
        name = "libcurl in C"
        run = { count, parallel in
            let good = curl_in_c_run(parallel == 1 ? single : many, count, Upstream.bodySize)
            guard good == count else { throw Failed(reason: "libcurl in C: \(count - good) of \(count) requests failed") }
        }
    }
}

/// Measures the clients with one server.
func measure(_ scheme: String, _ base: URL, _ authorities: URL?) async throws {
    let url = base.appendingPathComponent("get")
    let transport = try CurlTransport { $0.allowsHTTP2 = false }
    let trusted = try authorities.map { try Certificates(pem: Data(contentsOf: $0)) }
    let ness = Ness {
        $0.transport = transport
        if let trusted { $0.serverTrust = .pinned(["*": .authorities(trusted)]) }
        $0.maximumConnectionsPerHost = 4_096
        $0.timeout = .seconds(600)
    }
    var tls = TLSConfiguration.makeClientConfiguration()
    if let authorities { tls.trustRoots = .file(authorities.path) }
    var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
    configuration.httpVersion = .http1Only
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 4_096
    let peer = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let contenders = [
        try Contender(inC: url, authorities?.path),
        Contender("Ness", url) { try await ness.httpRequest(.post, withUrl: $0).set(body: body).dataRequest().value.responseData.count },
        Contender("Ness, awaited", url) { try await ness.httpRequest(.post, withUrl: $0).set(body: body).response().body.count },
        Contender("AsyncHTTPClient", url) {
            var request = HTTPClientRequest(url: $0.absoluteString)
            request.method = .POST
            request.body = .bytes(body)
            let response = try await peer.execute(request, timeout: .seconds(600))
            return try await response.body.collect(upTo: 1 << 20).readableBytes
        },
    ]
    let together = try await Rounds.measure(rounds(7), contenders.map { each in (each.name, { try await each.run(count, width) }) })
    for each in contenders {
        try Measured(
            "64 concurrent POSTs of 1 KiB over \(scheme)", "requests per second", .more, each.name, together.rates(each.name, of: count)
        ).report()
    }
    for each in contenders {
        let cpu = together.micros(each.name, per: count, of: \.processorSeconds)
        try Measured("CPU of 64 concurrent POSTs over \(scheme)", "µs per POST", .less, each.name, cpu).report()
    }
    let alone = try await Rounds.measure(rounds(5), contenders.map { each in (each.name, { try await each.run(few, 1) }) })
    for each in contenders {
        try Measured("One POST after the other over \(scheme)", "µs per POST", .less, each.name, alone.micros(each.name, per: few)).report()
    }
    await ness.shutdown(within: .zero)
    try await peer.shutdown()
}

print("engine: \(Ness().configuration.transport)\nserver: \(upstream.name)")
try await measure("http", upstream.url, nil)
if let secured = upstream.secured { try await measure("https", secured.url, secured.certificate) }
upstream.stop()
exit(0)
#endif
