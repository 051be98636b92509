// Concurrent GETs over HTTP/2 with TLS: Ness, AsyncHTTPClient, `curl --parallel`, and the load generator h2load where it is installed.
// It needs nginx, openssl, and libcurl 8.5 or later: `.ci/libcurl newest` brings one.
//   ../.ci/libcurl newest swift run -c release --package-path Benchmarks http2
import AsyncHTTPClient
import Foundation
import Measure
import NIOSSL
import NessHTTP
import Upstream

#if os(Linux)
let upstream = try await Upstream.start()
guard let secured = upstream.secured else { throw Failed(reason: "nginx or openssl is not installed") }
let transport = try CurlTransport { _ in }
let trusted = try Certificates(pem: Data(contentsOf: secured.certificate))
guard "\(transport)".contains("HTTP/2") else { throw Failed(reason: "\(transport) does not use HTTP/2") }
print("engine: \(transport)\nserver: \(upstream.name)")
let ness = Ness {
    $0.transport = transport
    $0.serverTrust = .pinned(["*": .authorities(trusted)])
    $0.maximumConnectionsPerHost = 4_096
    $0.timeout = .seconds(600)
}
var tls = TLSConfiguration.makeClientConfiguration()
tls.trustRoots = .file(secured.certificate.path)
let peer = HTTPClient(
    eventLoopGroupProvider: .singleton, configuration: HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow))
let target = secured.url.appendingPathComponent("get").absoluteString

/// Sends a number of GETs, of which `width` are concurrent. Their URLs differ, because Ness would share a response among equal ones.
@Sendable func send(_ count: Int, _ width: Int, _ get: @escaping @Sendable (String) async throws -> Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<width {
            group.addTask {
                for _ in 0..<count / width {
                    guard try await get("\(target)?n=\(task)") == Upstream.bodySize else {
                        throw Failed(reason: "a body had another length")
                    }
                }
            }
        }
        try await group.waitForAll()
    }
}

/// Runs a program that sends all GETs, and throws if it fails.
func run(_ program: String, _ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    // curl draws a progress meter there.
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failed(reason: "\(program) failed with \(process.terminationStatus)") }
}

let count = isQuick ? 4_000 : 16_000
for width in [64, 1_000] {
    var contenders: [(name: String, body: () async throws -> Void)] = [
        ("Ness", { try await send(count, width) { try await ness.httpRequest(.get, withUrl: $0).dataRequest().value.responseData.count } }),
        (
            "AsyncHTTPClient",
            {
                // It has left requests waiting until this timeout, with no connection open.
                try await send(count, width) {
                    let response = try await peer.execute(HTTPClientRequest(url: $0), timeout: .seconds(20))
                    guard response.version.major == 2 else { throw Failed(reason: "AsyncHTTPClient used \(response.version)") }
                    return try await response.body.collect(upTo: 1 << 20).readableBytes
                }
            }
        ),
    ]
    if let curl = findProgram("curl") {
        let urls = "\(target)?n=[1-\(count)]"
        let options = [
            "--silent", "--fail", "--http2", "--cacert", secured.certificate.path, "--parallel", "--parallel-max", "\(min(width, 300))",
        ]
        contenders.append(("curl --parallel", { try run(curl, options + ["--output", "/dev/null", urls]) }))
    }
    if let h2load = findProgram("h2load") {
        // nginx takes 128 requests at a time on a connection.
        let connections = (width + 127) / 128
        let options = ["-n", "\(count)", "-c", "\(connections)", "-m", "\(width / connections)", "-t", "1", target]
        contenders.append(("h2load, a load generator in C", { try run(h2load, options) }))
    }
    let costs = try await Rounds.measure(rounds(5), contenders)
    for contender in contenders {
        let rates = costs.rates(contender.name, of: count)
        try Measured("\(figure(Double(width))) concurrent GETs over HTTP/2", "requests per second", .more, contender.name, rates).report()
    }
}
upstream.stop()
exit(0)
#endif
