// The cost of a request among many over sockets, with Ness, AsyncHTTPClient and URLSession: requests that wait for a slow response, each of the
// same or another origin, over HTTP/1.1 and HTTP/2, and streams with slow readers. It needs nginx, for HTTP/2 also openssl and libcurl 8.5.
//   swift run -c release --package-path Benchmarks crowds            all, or those whose names contain the argument
//   ../.ci/libcurl newest swift run -c release --package-path Benchmarks crowds
import AsyncHTTPClient
import Foundation
import Measure
import NIOSSL
import NessHTTP
import Upstream

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

#if os(Linux)
let upstream = try await Upstream.start(fileSize: 64 << 10, hosts: 1_000)
let port = upstream.url.port ?? 80
let transport = try CurlTransport { _ in }
print("engine: \(transport)\nserver: \(upstream.name)")
let certificate = "\(transport)".contains("HTTP/2") ? upstream.secured : nil
let trusted = try certificate.map { try Certificates(pem: Data(contentsOf: $0.certificate)) }

/// A client that sends GETs.
struct Client: Sendable {
    let name: String
    /// The most requests that it can send at a time.
    var limit = Int.max
    /// Returns the length of a body.
    let get: @Sendable (String) async throws -> Int
    /// Reads a body, and pauses after each chunk. Returns its length. `nil` if the client has no streams.
    var drain: (@Sendable (String) async throws -> Int)?
}

func pause() async throws { try await Task.sleep(for: .milliseconds(100)) }

func manager(trusting certificates: Certificates? = nil) -> Ness {
    Ness {
        $0.transport = transport
        // A pinned host requires https.
        if let certificates { $0.serverTrust = .pinned(["*": .authorities(certificates)]) }
        $0.maximumConnectionsPerHost = .max
        $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
        $0.timeout = .seconds(600)
    }
}

let plain = manager(), secured = manager(trusting: trusted)
@Sendable func request(_ url: String) -> RequestBuilder { (url.hasPrefix("https") ? secured : plain).httpRequest(.get, withUrl: url) }
var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 16_384
if let certificate {
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.trustRoots = .file(certificate.certificate.path)
    configuration.tlsConfiguration = tls
}
let peer = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
let sessionConfiguration = URLSessionConfiguration.ephemeral
sessionConfiguration.httpMaximumConnectionsPerHost = 16_384
let session = URLSession(configuration: sessionConfiguration)
let clients = [
    Client(name: "Ness") {
        try await request($0).dataRequest().value.responseData.count
    } drain: {
        var length = 0
        for try await chunk in request($0).streamRequest().chunks {
            length += chunk.count
            try await pause()
        }
        return length
    },
    Client(name: "AsyncHTTPClient") {
        let response = try await peer.execute(HTTPClientRequest(url: $0), timeout: .seconds(600))
        return try await response.body.collect(upTo: 1 << 20).readableBytes
    } drain: {
        let response = try await peer.execute(HTTPClientRequest(url: $0), timeout: .seconds(600))
        var length = 0
        for try await chunk in response.body {
            length += chunk.readableBytes
            try await pause()
        }
        return length
    },
    // It keeps a core busy while a request waits.
    Client(name: "URLSession", limit: 100) { text in
        guard let url = URL(string: text) else { throw Failed(reason: "no URL") }
        return try await session.data(from: url).0.count
    },
]

/// Requests that run together.
struct Crowd {
    let name: String
    var sizes = [10, 100, 1_000, 5_000]
    var isStreamed = false
    var usesHTTP2 = false
    /// Returns the URL of a request.
    let url: @Sendable (Int) -> String
}

var crowds = [
    Crowd(name: "a GET that waits for a second") { "http://127.0.0.1:\(port)/slow?\($0)" },
    Crowd(name: "a GET that waits for a second, each of another origin", sizes: [10, 100, 1_000]) {
        "http://\(Upstream.address($0)):\(port)/slow"
    },
    Crowd(name: "a stream with a slow reader", isStreamed: true) { "http://127.0.0.1:\(port)/file?\($0)" },
]
if let certificate {
    let start = certificate.url.absoluteString
    // AsyncHTTPClient opens one connection, on which nginx takes 128 requests at a time.
    crowds.append(
        Crowd(name: "a GET that waits for a second over HTTP/2", sizes: [10, 100], usesHTTP2: true) { "\(start)/slow?\($0)" })
}

let chosen = CommandLine.arguments.dropFirst().first
for crowd in crowds where chosen.map(crowd.name.contains) ?? true {
    for count in crowd.sizes where !isQuick || count <= 100 {
        let able = clients.filter {
            // URLSession does not trust the server's certificate.
            count <= $0.limit && (!crowd.isStreamed || $0.drain != nil) && (!crowd.usesHTTP2 || $0.name != "URLSession")
        }
        let length = crowd.isStreamed ? 64 << 10 : Upstream.bodySize
        let costs = try await Rounds.measure(
            rounds(5),
            able.map { client in
                (
                    client.name,
                    {
                        try await withThrowingTaskGroup(of: Int.self) { group in
                            for number in 0..<count {
                                let url = crowd.url(number), send = crowd.isStreamed ? client.drain ?? client.get : client.get
                                group.addTask { try await send(url) }
                            }
                            for try await each in group where each != length { throw Failed(reason: "\(client.name): another length") }
                        }
                    }
                )
            })
        for client in able {
            let micros = costs.micros(client.name, per: count, of: \.processorSeconds)
            try Growth(
                plot: "Over sockets: \(crowd.name)", kind: client.name, count: count, micros: micros, instructions: nil
            ).report()
        }
    }
}
upstream.stop()
exit(0)
#endif
